import torch.distributed as dist
from megatron.core import mpu


def report(loss):
    seen = loss.detach().clone()
    dist.all_reduce(seen, group=mpu.get_data_parallel_group(with_context_parallel=True))
    return seen / mpu.get_data_parallel_world_size(with_context_parallel=True)


def add_up(grads, group, share):
    for grad in grads:
        dist.all_reduce(grad, group=group)
        grad.mul_(share)


def over_replicas(dense, experts):
    share = 1.0 / mpu.get_data_parallel_world_size(with_context_parallel=True)
    add_up(dense, mpu.get_data_parallel_group(with_context_parallel=True), share)
    add_up(experts, mpu.get_expert_data_parallel_group(), share)
