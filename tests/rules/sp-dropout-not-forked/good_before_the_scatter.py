from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
from torch import nn


class Enter(nn.Module):
    """Dropped while it is whole: all ranks must drop alike."""

    def __init__(self, channels, dim, config):
        super().__init__()
        self.embed = nn.Linear(channels, dim)
        self.drop = nn.Dropout(0.1)
        self.sequence_parallel = config.sequence_parallel

    def forward(self, x):
        x = self.drop(self.embed(x))
        if self.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
        return x
