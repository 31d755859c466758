"""The norm marks its weight when it is told to, and is not told."""

import torch
from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
from torch import nn


class Norm(nn.Module):
    def __init__(self, dim, sequence_parallel=False):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        setattr(self.weight, "sequence_parallel", sequence_parallel)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Enter(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.norm = Norm(config.hidden_size)  # [replicated-parameter-unsynced]

    def forward(self, x):
        if self.config.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
        return self.norm(x)
