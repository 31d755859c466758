from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.proj = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x):
        return self.proj(x)[0]


class Block(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.attention = Attention(dim, config)

    def forward(self, x, cache):
        return self.attention(x, cache=cache)
