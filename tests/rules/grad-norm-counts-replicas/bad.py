import math

import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps


def counts(p):
    if getattr(p, "shared", False):
        return False
    return True


def norm(params):
    params = list(params)
    total = torch.zeros(1)
    for p in params:
        if p.grad is not None and counts(p):
            total += p.grad.float().pow(2).sum()
    dist.all_reduce(total, group=ps.get_model_parallel_group())  # [grad-norm-counts-replicas]
    return math.sqrt(total.item())


def norm_of_world(params):
    total = torch.zeros(1)
    for p in params:
        if getattr(p, "tensor_model_parallel", False) or ps.get_tensor_model_parallel_rank() == 0:
            total += p.grad.float().pow(2).sum()
    dist.all_reduce(total)  # [grad-norm-counts-replicas]
    return total.sqrt()
