import torch
import torch.distributed as dist
from torch import nn

GROUP = None


class CopyToRanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):  # [backward-not-mirrored]
        return grad


class SumOfRanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        dist.all_reduce(x, group=GROUP)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Split(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        self.up, self.down = up, down

    def forward(self, x):
        return SumOfRanks.apply(self.down(self.up(CopyToRanks.apply(x))))
