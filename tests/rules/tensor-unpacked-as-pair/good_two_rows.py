from megatron.core.tensor_parallel import VocabParallelEmbedding
from torch import nn


class Pairs(nn.Module):
    """Two rows on purpose: a question and an answer."""

    def __init__(self, config, words):
        super().__init__()
        self.table = VocabParallelEmbedding(words, config.hidden_size, init_method=config.init_method, config=config)

    def forward(self, both):
        question, answer = self.table(both)
        first, _ = self.table(both).chunk(2)
        return question - answer, first
