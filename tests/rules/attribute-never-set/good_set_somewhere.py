from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Base(nn.Module):
    scale = 2.0

    def forward(self, x):
        return self.inner(x) * self.scale * self.ratio

    @property
    def ratio(self):
        return 1.0


class DistributedMix(Base):
    def __init__(self, dim, config):
        super().__init__()
        self.inner = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)
        self.register_buffer("table", None)

    def shape(self):
        return self.table, self.training, self.lookup

    @staticmethod
    def fill(model):
        model.lookup = {}
