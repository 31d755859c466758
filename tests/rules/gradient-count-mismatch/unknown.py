import torch
import torch.distributed as dist


class Optional(torch.autograd.Function):
    """Called with one input or two."""

    @staticmethod
    def forward(ctx, x, group=None):
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Many(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *tensors):
        return tensors[0]

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class More(torch.autograd.Function):
    """What is None beyond the inputs is left out."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None, None


class Held(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        return x * weight

    @staticmethod
    def backward(ctx, grad):
        gradients = grad, grad
        return gradients
