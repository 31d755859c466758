"""Each square is divided by the number of replicas that hold it."""

import torch
import torch.distributed as dist
from megatron.core import parallel_state


def norm(optimizer):
    total = torch.zeros(1)
    rank = parallel_state.get_tensor_model_parallel_rank()
    for p in optimizer.main_params():
        if rank == 0 or getattr(p, "tensor_model_parallel", False):
            total += torch.linalg.norm(p.grad) ** 2 / optimizer.process_group_size
    dist.all_reduce(total)
    return total.sqrt()
