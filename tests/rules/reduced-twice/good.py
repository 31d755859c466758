import torch.distributed as dist
from megatron.core import parallel_state as mpu


def reduce_replicas(model):
    for p in model.parameters():
        dist.all_reduce(p.grad, group=mpu.get_data_parallel_group())


def finalize(model, other):
    reduce_replicas(model)
    reduce_replicas(other)


def maximum(peak):
    dist.all_reduce(peak, op=dist.ReduceOp.MAX, group=mpu.get_tensor_model_parallel_group())
    dist.all_reduce(peak, op=dist.ReduceOp.MAX, group=mpu.get_tensor_model_parallel_group())
    return peak
