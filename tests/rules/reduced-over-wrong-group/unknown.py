import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps


def whole(x, group, size):
    parts = [torch.empty_like(x) for _ in range(size)]
    dist.all_gather(parts, x, group=ps.get_tensor_model_parallel_group())
    dist.all_reduce(x, group=group)
    return torch.cat(parts), x / ps.get_data_parallel_world_size()
