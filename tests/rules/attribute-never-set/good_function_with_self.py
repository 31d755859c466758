"""A function in a method that takes a `self` is meant for another object; so is a method that is lent to one."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class DistributedMix(nn.Module):
    def __init__(self, dim, other, config):
        super().__init__()

        def forward(self, x):
            return self.dense(x)

        self.inner = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)
        other.forward = forward.__get__(other)

    def forward(self, x):
        return self.inner(x)[0]


class Lender(nn.Module):
    def forward(self, x):
        return self.q_proj(x) + self.heads()

    def heads(self):
        return self.num_key_value_heads


def patch(attention):
    attention.forward = Lender.forward.__get__(attention)
    attention.heads = Lender.heads
