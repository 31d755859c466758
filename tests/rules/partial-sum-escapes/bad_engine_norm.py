"""The norm of an inference engine needs the whole sum; a kept residual is the argument that the norm took."""

import torch
from torch import nn
from vllm.distributed import tensor_model_parallel_all_reduce
from vllm.model_executor.layers.layernorm import RMSNorm
from vllm.model_executor.layers.linear import ColumnParallelLinear, RowParallelLinear


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = ColumnParallelLinear(dim, hidden, bias=False)
        self.down = RowParallelLinear(hidden, dim, bias=False, reduce_results=False)

    def forward(self, x):
        h, _ = self.up(x)
        h, _ = self.down(torch.relu(h))
        return h


class Late(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.mlp = Mlp(dim, hidden)
        self.norm = RMSNorm(dim)

    def forward(self, x):
        return tensor_model_parallel_all_reduce(self.norm(self.mlp(x)))  # [partial-sum-escapes]


class Kept(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.mlp = Mlp(dim, hidden)
        self.norm = RMSNorm(dim)

    def forward(self, x):
        residual = x
        x = self.norm(x)
        return residual + self.mlp(x)  # [partial-sum-escapes]
