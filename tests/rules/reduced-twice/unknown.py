import torch.distributed as dist
from megatron.core import parallel_state as mpu


def warm_up(buffer):
    dist.all_reduce(buffer, group=mpu.get_data_parallel_group())
    dist.all_reduce(buffer, group=mpu.get_data_parallel_group())


def steps(model, sync):
    sync(model)
    sync(model)
