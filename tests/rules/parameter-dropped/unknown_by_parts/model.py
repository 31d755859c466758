from parts import Block
from torch import nn


class IceDistributedFuser(nn.Module):
    def __init__(self, dim, window_size=(2, 6, 12), config=None):
        super().__init__()
        self.block = Block(dim)

    def forward(self, x):
        return self.block(x)


class IceDistributedTrunk(nn.Module):
    def __init__(self, dim, window_size=(2, 6, 12), config=None):
        super().__init__()
        self.fuser = IceDistributedFuser(dim, window_size=window_size, config=config)

    def forward(self, x):
        return self.fuser(x)
