import torch.distributed as dist
from megatron.core import parallel_state as mpu


def sum_replicas(model):
    for p in model.parameters():
        dist.all_reduce(p.grad, group=mpu.get_data_parallel_group())


def sum_marked(model, enabled):
    if not enabled:
        return
    for p in model.parameters():
        if getattr(p, "sequence_parallel", False):
            dist.all_reduce(p.grad, group=mpu.get_tensor_model_parallel_group())


def finalize(model, enabled):
    sum_replicas(model)
    sum_marked(model, enabled)


def step(model, optimizer):
    finalize(model, model.config.sequence_parallel)
    optimizer.step()


if __name__ == "__main__":
    step(None, None)
