"""Laid out as in 2023, and without a config: the source of the layer is here all the same."""

from megatron import get_args
from megatron.core import tensor_parallel
from torch import nn


class Older(nn.Module):
    def __init__(self, dim, init):
        super().__init__()
        self.dense = tensor_parallel.RowParallelLinear(
            dim, dim, init_method=init, bias=get_args().bias, input_is_parallel=True, skip_bias_add=True
        )

    def forward(self, x, kept):
        out, bias, kept = self.dense(x, kept)
        return out + bias, kept
