import torch.distributed as dist
from megatron.core import mpu


def complete(model):
    for p in model.parameters():
        dist.all_reduce(p.grad, group=mpu.get_data_parallel_group())


def clip(model, limit):
    total = sum(p.grad.pow(2).sum() for p in model.parameters())
    dist.all_reduce(total, group=mpu.get_model_parallel_group())
    for p in model.parameters():
        p.grad.mul_((limit / total.sqrt()).clamp(max=1.0))


def step(model, optimizer, limit):
    clip(model, limit)  # [clipped-before-complete]
    complete(model)
    optimizer.step()
