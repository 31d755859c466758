"""Layers of fairscale draw the whole weight from any seed, and nothing else is drawn."""

import torch
import torch.distributed as dist
from fairscale.nn.model_parallel import initialize as fs_init
from fairscale.nn.model_parallel.layers import ColumnParallelLinear
from torch import nn


class Head(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.out = ColumnParallelLinear(dim, dim, gather_output=True)

    def forward(self, x):
        return self.out(x)


def main(seed):
    fs_init.initialize_model_parallel(2)
    torch.manual_seed(seed + dist.get_rank())
    return Head(8)
