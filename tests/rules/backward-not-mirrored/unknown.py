"""A sum in both directions is right where no copy sums the gradients; helpers may do what is missing."""

import torch
import torch.distributed as dist


class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class ByHelper(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return _gather_all(x, group)

    @staticmethod
    def backward(ctx, grad):
        return reduce_scatter_all(grad, ctx.group), None


def _gather_all(x, group):
    return x


def reduce_scatter_all(x, group):
    return x
