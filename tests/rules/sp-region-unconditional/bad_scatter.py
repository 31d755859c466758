from megatron.core import tensor_parallel
from torch import nn


class Enter(nn.Module):
    def __init__(self, channels, dim, config):
        super().__init__()
        self.sequence_parallel = config.sequence_parallel
        self.embed = nn.Linear(channels, dim)

    def forward(self, x):
        x = self.embed(x)
        return tensor_parallel.scatter_to_sequence_parallel_region(x)  # [sp-region-unconditional]
