import torch
import torch.distributed as dist

GROUP = None


class Mark(torch.autograd.Function):
    """Hooks the graph, and changes nothing."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class CopyOfInput(torch.autograd.Function):
    """Nothing of the file applies it beside a sum."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class SumOfRanks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        dist.all_reduce(x, group=GROUP)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


def total(x):
    return SumOfRanks.apply(Mark.apply(x))
