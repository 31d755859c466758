from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class DistributedMix(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.inner = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x):
        return self.inner(x)[0]

    def copied_from_the_original(self):
        return self.embeddings


def built_here(dim, config):
    class Wide(DistributedBase):
        def widen(self, x):
            return x

    return Wide(dim, config)


class DistributedBase(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.inner = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x):
        return self.widen(self.inner(x)[0])
