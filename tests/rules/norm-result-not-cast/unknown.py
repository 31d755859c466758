"""Between layers that are tensor_parallel."""

import torch
from torch import nn

from kernels import rms


class PlainNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x.float() * self.weight


class KernelNorm(nn.Module):
    def __init__(self, dim, dtype):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim, dtype=dtype))

    def forward(self, x):
        return rms(x, self.weight)
