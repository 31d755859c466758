"""Twice the TP size times a share is whole, too."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Linear(nn.Module):
    def __init__(self, size, tp_size):
        super().__init__()
        self.weight = nn.Parameter(size // tp_size)


class Attention(nn.Module):
    def __init__(self, dim, heads, tp_size, config):
        super().__init__()
        assert heads % tp_size == 0
        self.heads = heads // tp_size
        self.kv_heads = self.heads
        head_dim = dim // heads
        self.kv = Linear(tp_size * self.heads * head_dim + (2 * tp_size * self.kv_heads * head_dim), tp_size)
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x):
        return self.q(x)[0] @ self.kv.weight
