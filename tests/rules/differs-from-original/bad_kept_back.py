"""A rate that the class takes and hands to one of its parts only."""

from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear


class SorrelPart(nn.Module):
    def __init__(self, dim, drop=0.0):
        super().__init__()
        self.proj = nn.Linear(dim, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        return self.drop(self.proj(x))


class SorrelDistributedPart(nn.Module):
    def __init__(self, dim, drop=0.0, config=None):
        super().__init__()
        self.proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, gather_output=True
        )
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        return self.drop(self.proj(x)[0])


class SorrelBlock(nn.Module):
    def __init__(self, dim, drop=0.0):
        super().__init__()
        self.first = SorrelPart(dim, drop=drop)
        self.second = SorrelPart(dim, drop=drop)

    def forward(self, x):
        return self.second(self.first(x))


class SorrelDistributedBlock(nn.Module):
    def __init__(self, dim, drop=0.0, config=None):
        super().__init__()
        self.first = SorrelDistributedPart(dim, drop=drop, config=config)
        self.second = SorrelDistributedPart(dim, config=config)  # [differs-from-original]

    def forward(self, x):
        return self.second(self.first(x))
