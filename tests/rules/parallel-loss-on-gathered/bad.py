from megatron.core import tensor_parallel
from torch import nn


class ForecastTokens(nn.Module):
    def __init__(self, dim, vocabulary, config):
        super().__init__()
        self.embed = tensor_parallel.VocabParallelEmbedding(
            vocabulary, dim, init_method=config.init_method, config=config
        )
        self.out = tensor_parallel.ColumnParallelLinear(
            dim, vocabulary, config=config, init_method=config.init_method, bias=False, gather_output=False
        )

    def forward(self, tokens, labels):
        logits, _ = self.out(self.embed(tokens))
        logits = tensor_parallel.gather_from_tensor_model_parallel_region(logits)
        return tensor_parallel.vocab_parallel_cross_entropy(logits.float(), labels)  # [parallel-loss-on-gathered]


class PlainHead(nn.Module):
    def __init__(self, dim, vocabulary):
        super().__init__()
        self.out = nn.Linear(dim, vocabulary)

    def forward(self, x, labels):
        return tensor_parallel.vocab_parallel_cross_entropy(self.out(x), labels)  # [parallel-loss-on-gathered]
