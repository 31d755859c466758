import torch
import torch.distributed as dist


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, group):
        ctx.factor, ctx.group = factor, group
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        dist.all_reduce(grad, group=ctx.group)
        return grad * ctx.factor, None, None
