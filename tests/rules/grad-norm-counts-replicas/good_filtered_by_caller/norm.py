import torch
import torch.distributed as dist
from megatron.core import parallel_state


def norm(parameters):
    total = torch.zeros(1)
    for p in parameters:
        total += p.grad.float().pow(2).sum()
    dist.all_reduce(total, group=parallel_state.get_model_parallel_group())
    return total.sqrt()
