import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps


def is_own(p):
    return getattr(p, "tensor_model_parallel", False)


def counts(p):
    return is_own(p) or ps.get_tensor_model_parallel_rank() == 0


def norm(params):
    total = torch.zeros(1)
    for p in params:
        if p.grad is None:
            continue
        if not counts(p):
            continue
        total += p.grad.float().pow(2).sum()
    dist.all_reduce(total, group=ps.get_model_parallel_group())
    return total.sqrt()


def of_stages(params):
    total = sum(p.grad.float().pow(2).sum() for p in params if counts(p))
    dist.all_reduce(total, group=ps.get_model_parallel_group())
    return total.sqrt()
