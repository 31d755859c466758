import torch
from torch import nn


class RainFuser(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = blocks

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class RainDistributedFuser(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = blocks

    def forward(self, x):
        for block in self.blocks:
            x = block(x.detach())  # [gradient-cut-on-path]
        x = x.data  # [gradient-cut-on-path]
        x = self.norm(x).detach()  # [gradient-cut-on-path]
        return x


_REGISTRY = {"RainFuser": RainFuser, "RainDistributedFuser": RainDistributedFuser}
