import torch.distributed as dist
from megatron.core import parallel_state as mpu


def reduce_replicas(model):
    for p in model.parameters():
        dist.all_reduce(p.grad, group=mpu.get_data_parallel_group())


def finalize(model):
    reduce_replicas(model)
    reduce_replicas(model)  # [reduced-twice]
