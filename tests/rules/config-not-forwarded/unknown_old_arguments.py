"""Arguments that the layers took before they had a config."""

from megatron.core import tensor_parallel
from torch import nn


class Mlp(nn.Module):
    def __init__(self, dim, init, config):
        super().__init__()
        self.up = tensor_parallel.ColumnParallelLinear(
            dim,
            dim,
            init_method=init,
            gather_output=False,
            sequence_parallel_enabled=config.sequence_parallel,
            gradient_accumulation_fusion=False,
        )

    def forward(self, x):
        return self.up(x)[0]
