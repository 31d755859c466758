import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps


def norm(params, keep, group):
    total = torch.zeros(1)
    for p in params:
        if keep(p):
            total += p.grad.float().pow(2).sum()
    dist.all_reduce(total, group=ps.get_model_parallel_group())
    return total.sqrt()


def of_group(params, group):
    total = torch.zeros(1)
    for p in params:
        total += p.grad.float().pow(2).sum()
    dist.all_reduce(total, group=group)
    return total.sqrt()
