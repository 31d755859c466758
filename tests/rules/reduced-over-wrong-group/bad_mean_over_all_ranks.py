import torch.distributed as dist
from megatron.core import parallel_state as mpu


def reduce_all(gradients, group, scale=1.0):
    for gradient in gradients:
        dist.all_reduce(gradient, group=group)
        gradient.mul_(scale)


def average(gradients):
    group = None
    reduce_all(gradients, mpu.get_data_parallel_group(), 1.0 / dist.get_world_size())  # [reduced-over-wrong-group]
    reduce_all(gradients, None, 1.0 / mpu.get_data_parallel_world_size())  # [reduced-over-wrong-group]
    return group
