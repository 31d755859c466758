"""The backward gathers through a function that says so."""

import torch
import torch.distributed as dist


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        ctx.sizes = [x.shape[0] // dist.get_world_size(group)] * dist.get_world_size(group)
        return x.split(ctx.sizes)[dist.get_rank(group)]

    @staticmethod
    def backward(ctx, grad):
        return gather_rows(grad, ctx.sizes, ctx.group), None


def gather_rows(x, sizes, group):
    parts = [x.new_empty(size, *x.shape[1:]) for size in sizes]
    dist.all_gather(parts, x, group=group)
    return torch.cat(parts)
