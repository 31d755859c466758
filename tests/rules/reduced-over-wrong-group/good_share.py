import torch
import torch.distributed as dist
from megatron.core import parallel_state as mpu


def flat_all_reduce(grads, group, scale):
    flat = torch.cat([grad.reshape(-1) for grad in grads])
    dist.all_reduce(flat, group=group)
    flat.mul_(scale)


def reduce_replicas(grads):
    flat_all_reduce(grads, mpu.get_data_parallel_group(), 1.0 / mpu.get_data_parallel_world_size())
