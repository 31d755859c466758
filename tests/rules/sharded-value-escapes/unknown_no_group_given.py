"""A layer that takes a group of one rank where it is given none."""

import torch
from torch import nn


class ColumnParallelLinear(nn.Module):
    def __init__(self, inputs, outputs, tp_rank=None, tp_size=None):
        super().__init__()
        if tp_rank is None:
            tp_rank, tp_size = 0, 1
        self.weight = nn.Parameter(torch.empty(outputs // tp_size, inputs))

    def weight_loader(self, param, loaded):
        param.data.copy_(loaded)

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight)


class Latent(nn.Module):
    def __init__(self, dim, width):
        super().__init__()
        self.down = ColumnParallelLinear(dim, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(self.down(x))
