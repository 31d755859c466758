from elsewhere import Mixin
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class DistributedMix(Mixin, nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.inner = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x):
        return self.outer(x)


class DistributedNamed(nn.Module):
    def __init__(self, layers):
        super().__init__()
        for name, layer in layers.items():
            setattr(self, name, layer)

    def forward(self, x):
        return self.first(x)
