"""A method that writes a checkpoint recomputes nothing."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Engine(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.layer = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x):
        return self.layer(x)[0]

    def checkpoint(self, folder, step=None):
        return f"{folder}/{step}"

    def on_demand(self, step):
        return self.checkpoint("store", step=step)
