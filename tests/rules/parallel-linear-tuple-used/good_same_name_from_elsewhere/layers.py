import torch
from torch import nn


class ColumnParallelLinear(nn.Module):
    """A layer of this project's own: returns the tensor."""

    def __init__(self, dim, out, world=1):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out // world, dim))

    def forward(self, x):
        return nn.functional.linear(x, self.weight)
