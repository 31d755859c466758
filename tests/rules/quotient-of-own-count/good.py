import torch
import torch.distributed as dist
from megatron.core import parallel_state


def both(loss_mask, losses):
    summed = (losses * loss_mask).sum()
    tokens = loss_mask.sum()
    dist.all_reduce(summed, group=parallel_state.get_context_parallel_group())
    dist.all_reduce(tokens, group=parallel_state.get_context_parallel_group())
    return summed / tokens


def in_one(loss_mask, losses):
    total = torch.stack([(losses * loss_mask).sum(), loss_mask.sum()])
    dist.all_reduce(total, group=parallel_state.get_context_parallel_group())
    return total[0] / total[1]


def divided_first(loss_mask, losses):
    summed = (losses * loss_mask).sum()
    tokens = loss_mask.sum()
    mean = summed / tokens
    dist.all_reduce(mean, op=dist.ReduceOp.AVG, group=parallel_state.get_data_parallel_group())
    return mean
