from megatron.core import tensor_parallel
from torch import nn


class Enter(nn.Module):
    def __init__(self, channels, dim, config):
        super().__init__()
        self.sequence_parallel = config.sequence_parallel
        self.embed = nn.Linear(channels, dim)

    def forward(self, x):
        x = self.embed(x)
        return tensor_parallel.scatter_to_sequence_parallel_region(x) if self.sequence_parallel else x


class Leave(nn.Module):
    """Built where sequence parallelism is on only: it does not ask."""

    def forward(self, x):
        return tensor_parallel.gather_from_sequence_parallel_region(x)
