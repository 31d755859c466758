import torch
import torch.distributed as dist


def overlap_reduce(grad, weight, lr, group):
    work = dist.all_reduce(grad, group=group, async_op=True)
    work.wait()
    weight.data.add_(grad, alpha=-lr)
    return weight
