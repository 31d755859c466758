import torch
import torch.distributed as dist
from megatron.core import parallel_state


def loss_func(loss_mask, losses):
    summed = torch.sum(losses.view(-1) * loss_mask.view(-1))
    tokens = loss_mask.sum()
    if parallel_state.get_context_parallel_world_size() > 1:
        dist.all_reduce(summed, group=parallel_state.get_context_parallel_group())
    return summed / tokens  # [quotient-of-own-count]
