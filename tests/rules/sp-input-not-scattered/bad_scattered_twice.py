from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
from torch import nn


class Enter(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    def embed(self, x):
        return scatter_to_sequence_parallel_region(x) if self.config.sequence_parallel else x

    def forward(self, x):
        x = self.embed(x)
        if self.config.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)  # [sp-input-not-scattered]
        return x.tanh()
