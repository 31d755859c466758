from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Linear(nn.Module):
    def __init__(self, size, tp_size):
        super().__init__()
        self.weight = nn.Parameter(size // tp_size)


class Attention(nn.Module):
    def __init__(self, dim, kv_heads, head_dim, tp_size, config):
        super().__init__()
        kv_here = (kv_heads + tp_size - 1) // tp_size
        self.kv = Linear(dim + 2 * tp_size * kv_here * head_dim, tp_size)
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x):
        return self.q(x)[0] @ self.kv.weight
