"""A shard joined with an argument that a column-parallel layer took as whole."""

import torch
from torch import nn
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


class Joined(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = ColumnParallelLinear(dim, hidden, bias=False)
        self.down = RowParallelLinear(hidden + dim, dim, bias=False, input_is_parallel=True)

    def forward(self, x):
        h, _ = self.up(x)
        out, _ = self.down(torch.cat([h, x], dim=-1))  # [input-is-parallel-mismatch]
        return out
