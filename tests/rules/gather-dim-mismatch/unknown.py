import torch
import torch.distributed as dist
from megatron.core import parallel_state as mpu


def tables(model):
    """Nothing here says along which dimension they were cut."""
    state = {}
    for name, p in model.named_parameters():
        parts = [torch.empty_like(p) for _ in range(mpu.get_tensor_model_parallel_world_size())]
        dist.all_gather(parts, p.data, group=mpu.get_tensor_model_parallel_group())
        state[name] = torch.cat(parts, dim=0)
    return state


def logits(part, partition_dim):
    parts = [torch.empty_like(part) for _ in range(mpu.get_tensor_model_parallel_world_size())]
    dist.all_gather(parts, part, group=mpu.get_tensor_model_parallel_group())
    return torch.cat(parts, dim=-1).chunk(2, dim=partition_dim)
