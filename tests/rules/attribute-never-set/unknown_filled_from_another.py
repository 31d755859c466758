"""An object that is made empty and takes over all that another has."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Packed(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.inner = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x):
        return self.inner(x)[0] * self.factor


def pack(module, packed):
    packed.__dict__ = module.__dict__
    return packed
