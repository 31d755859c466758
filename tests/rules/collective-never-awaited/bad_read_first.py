import torch
import torch.distributed as dist


def overlap_reduce(grad, weight, lr, group):
    work = dist.all_reduce(grad, group=group, async_op=True)
    weight.data.add_(grad, alpha=-lr)  # [collective-never-awaited]
    work.wait()
    return weight
