"""The function that calls it is called by nobody; another is told to do nothing."""

import torch.distributed as dist
from megatron.core import parallel_state as mpu


def sum_replicas(model):  # [marked-gradients-unsummed]
    for p in model.parameters():
        dist.all_reduce(p.grad, group=mpu.get_data_parallel_group())


def finalize(model):
    sum_replicas(model)


def sum_marked(model, enabled):  # [marked-gradients-unsummed]
    if not enabled:
        return
    for p in model.parameters():
        if getattr(p, "sequence_parallel", False):
            dist.all_reduce(p.grad, group=mpu.get_tensor_model_parallel_group())


def step(model, optimizer):
    sum_marked(model, False)
    optimizer.step()
