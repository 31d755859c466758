from megatron.core.tensor_parallel import (
    ColumnParallelLinear,
    gather_from_sequence_parallel_region,
    reduce_scatter_to_sequence_parallel_region,
)
from torch import nn


class Tail(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.sp = config.sequence_parallel
        self.norm = nn.LayerNorm(config.hidden_size)
        for weight in self.norm.parameters():
            weight.sequence_parallel = config.sequence_parallel

    def forward(self, parts):
        if self.sp:
            parts = reduce_scatter_to_sequence_parallel_region(parts)
        parts = self.norm(parts)
        return gather_from_sequence_parallel_region(parts) if self.sp else parts


class Model(nn.Module):
    def __init__(self, config, words):
        super().__init__()
        self.tail = Tail(config)
        self.words = ColumnParallelLinear(
            config.hidden_size, words, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, parts):
        return self.words(self.tail(parts))[0]  # [sp-input-not-scattered]
