import math

import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps
from torch.nn.utils import clip_grad_norm_


def counts(p):
    return getattr(p, "tensor_model_parallel", False) or ps.get_tensor_model_parallel_rank() == 0


def clip(params, limit):
    total = torch.zeros(1)
    for p in params:
        if p.grad is not None and counts(p):
            total += p.grad.float().pow(2).sum()  # [local-grad-norm]
    factor = limit / (math.sqrt(total.item()) + 1e-6)
    for p in params:
        p.grad.mul_(factor)


def norm_of_tp(params):
    total = torch.zeros(1)
    for p in params:
        if counts(p):
            total += p.grad.float().pow(2).sum()  # [local-grad-norm]
    dist.all_reduce(total, group=ps.get_tensor_model_parallel_group())
    return total.sqrt() if not ps.is_pipeline_last_stage() else total**0.5


def own_norm(params):
    total = torch.zeros(1)
    for p in params:
        if counts(p):
            total += p.grad.float().pow(2).sum()  # [local-grad-norm]
    return math.sqrt(total.item())


def scale(params, limit):
    factor = limit / own_norm(params)
    for p in params:
        p.grad.mul_(factor)


def step(model, optimizer):
    clip_grad_norm_(model.parameters(), 1.0)  # [local-grad-norm]
    optimizer.step()
