from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Head(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.out = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x):
        return self.out(x)[0]


class DistributedHeads(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.heads = {"wind": Head(dim, config), "rain": Head(dim, config)}  # [module-in-plain-container]

    def forward(self, x):
        return {name: head(x) for name, head in self.heads.items()}
