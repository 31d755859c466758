from layers import *
from torch import nn


class IceDistributedFuser(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.block = Block(dim)

    def forward(self, x):
        return self.block(x)
