"""The heads belong to another object, which checks them or does not."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads, config):
        super().__init__()
        self.heads, self.tp_size = heads, config.tensor_model_parallel_size
        if heads % self.tp_size:
            raise ValueError("heads must be a multiple of the tensor-parallel size")
        self.to_q = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )


class Block(nn.Module):
    def __init__(self, dim, heads, config):
        super().__init__()
        self.attn = Attention(dim, heads, config)

    def forward(self, x):
        return self.attn.to_q(x)[0].unflatten(-1, (self.attn.heads // self.attn.tp_size, -1))
