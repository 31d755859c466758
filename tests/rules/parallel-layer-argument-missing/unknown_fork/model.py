"""A fork of Megatron whose source is not in the tree: its layers may take other arguments."""

from torch import nn

from forecast.distributed.megatron.core.tensor_parallel import ColumnParallelLinear


class Mlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.up = ColumnParallelLinear(dim, 4 * dim, config, gather_output=True)

    def forward(self, x):
        return self.up(x)[0]
