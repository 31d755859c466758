from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
from torch import nn


class Enter(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.first = nn.LayerNorm(config.hidden_size)
        self.second = nn.LayerNorm(config.hidden_size)  # [replicated-parameter-unsynced]

    def forward(self, x):
        x = self.first(x)
        if self.config.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
        return self.second(x)
