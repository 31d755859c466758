from megatron.core.tensor_parallel import gather_from_sequence_parallel_region, scatter_to_sequence_parallel_region
from torch import nn


class Two(nn.Module):
    """Two flags of which nobody says that they are one; a group of its own."""

    def __init__(self, config, sequence_parallel_input, group):
        super().__init__()
        self.config = config
        self.cut = sequence_parallel_input
        self.group = group

    def forward(self, x, y):
        if self.cut:
            x = scatter_to_sequence_parallel_region(x)
        if self.config.sequence_parallel:
            y = gather_from_sequence_parallel_region(y)
        z = gather_from_sequence_parallel_region(x, group=self.group)
        return x + y, x + z
