from sglang.srt.distributed import get_pp_group
from sglang.srt.layers.utils import PPMissingLayer
from sglang.srt.layers.vocab_parallel_embedding import ParallelLMHead, VocabParallelEmbedding
from torch import nn


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        if get_pp_group().is_first_rank:
            self.embed_tokens = VocabParallelEmbedding(config.vocab_size, config.hidden_size)
        else:
            self.embed_tokens = PPMissingLayer()


class Causal(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = Model(config)
        if get_pp_group().is_last_rank:
            if get_pp_group().world_size == 1 and config.tie_word_embeddings:
                self.lm_head = self.model.embed_tokens
            else:
                self.lm_head = ParallelLMHead(config.vocab_size, 8)


class Copied(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = Model(config)
        if get_pp_group().is_last_rank:
            self.lm_head = ParallelLMHead(config.vocab_size, 8)
            if config.tie_word_embeddings and get_pp_group().is_first_rank:
                self.lm_head.weight = self.model.embed_tokens.weight
