"""What a stage sends carries no gradient."""

import torch
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class FennelBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, skip):
        return self.proj(x), skip


class FennelDistributedBlock(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        self.proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=True
        )

    def forward(self, x, skip):
        return self.proj(x)[0], skip.detach()  # [gradient-cut-on-path]
