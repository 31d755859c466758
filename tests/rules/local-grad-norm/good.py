import math

import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps
from megatron.core.optimizer.clip_grads import clip_grad_by_total_norm_fp32


def counts(p):
    return getattr(p, "tensor_model_parallel", False) or ps.get_tensor_model_parallel_rank() == 0


def norm(params):
    total = torch.zeros(1)
    for p in params:
        if p.grad is not None and counts(p):
            total += p.grad.float().pow(2).sum()
    dist.all_reduce(total, group=ps.get_model_parallel_group())
    return math.sqrt(total.item())


def clip(params, limit):
    factor = limit / (norm(params) + 1e-6)
    for p in params:
        p.grad.mul_(factor)


def one_parameter(p):
    """A figure for the log, of this rank."""
    return p.grad.norm()


def step(params, optimizer, total):
    clip_grad_by_total_norm_fp32(params, 1.0, total)
    optimizer.step()
