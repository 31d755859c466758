import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps


def mean(x):
    x = dist.all_reduce(x, group=ps.get_tensor_model_parallel_group())  # [collective-result-is-none]
    return x / ps.get_tensor_model_parallel_world_size()


def norm(x):
    return dist.all_reduce(x).sqrt()  # [collective-result-is-none]


def gathered(x, parts):
    whole = dist.all_gather(parts, x, group=ps.get_tensor_model_parallel_group(), async_op=False)  # [collective-result-is-none]
    return torch.cat(parts) + whole
