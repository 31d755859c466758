"""One size is a property of a configuration that cannot be worked out: it is still one size, and no part of it."""

from dataclasses import dataclass

import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import set_tensor_model_parallel_attributes
from torch import nn


@dataclass
class Grid:
    cells: int

    @property
    def kinds(self):
        return measured(self)


class Bank(nn.Module):
    def __init__(self, grid: Grid, heads):
        super().__init__()
        self.heads = heads // parallel_state.get_tensor_model_parallel_world_size()
        self.bank = nn.Parameter(torch.empty(grid.kinds, heads, 4))
        set_tensor_model_parallel_attributes(self.bank, True, 1, 1)  # [partition-mark-wrong]

    def forward(self, x):
        return x @ self.bank
