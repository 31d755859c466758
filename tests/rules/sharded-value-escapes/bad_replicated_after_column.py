"""A linear layer that every rank holds whole takes what each rank has a part of."""

import torch
from torch import nn
from vllm.model_executor.layers.linear import ColumnParallelLinear, ReplicatedLinear


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = ColumnParallelLinear(dim, hidden, bias=False)
        self.down = ReplicatedLinear(hidden, dim, bias=False)

    def forward(self, x):
        h, _ = self.up(x)
        out, _ = self.down(torch.relu(h))  # [sharded-value-escapes]
        return out
