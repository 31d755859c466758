from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Act(nn.Module):
    def forward(self, x):
        return x.relu()


class ActInto(Act):
    """The constructor chooses what runs."""

    def __init__(self):
        super().__init__()
        self.forward = self.forward_into

    def forward_into(self, x, buffer):
        buffer.copy_(super().forward(x))


class Mlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.up = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)
        self.act = ActInto()

    def forward(self, x, buffer):
        x, _ = self.up(x)
        self.act(x, buffer)
        return buffer
