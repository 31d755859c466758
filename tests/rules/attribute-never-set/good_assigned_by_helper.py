"""A function of the tree sets what it is handed by name."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


def assign(obj, **attrs):
    for name, value in attrs.items():
        setattr(obj, name, value)


class Operator(nn.Module):
    def __init__(self, config, order=2):
        super().__init__()
        assign(self, order=order, width=config.hidden_size)
        self.inner = ColumnParallelLinear(
            self.width, self.order * self.width, config=config, init_method=config.init_method
        )

    def forward(self, x):
        return self.inner(x)[0].view(*x.shape[:-1], self.order, -1)
