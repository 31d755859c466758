from copy import copy

from megatron.core.tensor_parallel import (
    ColumnParallelLinear,
    gather_from_sequence_parallel_region,
    scatter_to_sequence_parallel_region,
)
from megatron.core.transformer import TransformerConfig
from torch import nn


class Tail(nn.Module):
    """The head has a config of its own, with sequence parallelism off, and so gets all tokens."""

    def __init__(self, config, words):
        super().__init__()
        self.config = config
        plain = TransformerConfig(num_layers=1, hidden_size=64, num_attention_heads=4, sequence_parallel=False)
        self.words = ColumnParallelLinear(
            64, words, config=plain, init_method=config.init_method, gather_output=False
        )
        self.read = ColumnParallelLinear(
            64, words, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        every = x
        if self.config.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
            every = gather_from_sequence_parallel_region(x)
        return self.words(every)[0], self.read(x)[0]
