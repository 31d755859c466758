from megatron.core.tensor_parallel import reduce_scatter_to_sequence_parallel_region
from torch import nn


class Scale(nn.Module):
    def __init__(self, width, sequence_parallel):
        super().__init__()
        self.weight = nn.Parameter(width.new_ones(1))
        self.weight.sequence_parallel = sequence_parallel

    def forward(self, x):
        return x * self.weight


class Leave(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.config = config
        self.scale = Scale(width, sequence_parallel=False)  # [replicated-parameter-unsynced]
        self.right = Scale(width, sequence_parallel=config.sequence_parallel)

    def forward(self, parts):
        if self.config.sequence_parallel:
            parts = reduce_scatter_to_sequence_parallel_region(parts)
        return self.right(self.scale(parts))
