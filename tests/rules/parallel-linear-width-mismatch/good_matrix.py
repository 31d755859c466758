"""A condition is a matrix (batch, channels): its axis 1 is the last one."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Modulated(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.linear = ColumnParallelLinear(dim, 6 * dim, config=config, init_method=init, gather_output=True)
        self.proj = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)

    def forward(self, x, condition):
        shift, scale, *_ = self.linear(condition)[0].chunk(6, dim=1)
        x = x * (1 + scale)[None] + shift[None]
        return self.proj(x)[0]
