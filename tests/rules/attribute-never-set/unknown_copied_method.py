"""A method copied along with a model that nothing calls here; another class calls its own."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class WithToken(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.token = nn.Parameter(config.zeros(dim))
        self.inner = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def add_token(self, x):
        return x + self.token

    def forward(self, x):
        return self.inner(self.add_token(x))[0]


class WithoutToken(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.inner = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def add_token(self, x):
        return x + self.token

    def forward(self, x):
        return self.inner(x)[0]
