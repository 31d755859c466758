"""Groups for sequences and data alone: every rank holds the whole model."""

import math

import torch
import torch.distributed as dist
from mine import parallel_state as ps
from torch.nn.utils import clip_grad_norm_


def step(model, optimizer):
    for p in model.parameters():
        dist.all_reduce(p.grad, group=ps.get_sequence_parallel_group())
    clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def norm(params):
    total = torch.zeros(1)
    for p in params:
        total += p.grad.float().pow(2).sum()
    return math.sqrt(total.item())


def scale(params, limit):
    factor = limit / norm(params)
    for p in params:
        p.grad.mul_(factor)
