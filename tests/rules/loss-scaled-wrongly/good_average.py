import torch.distributed as dist
from megatron.core import parallel_state


def average_over_replicas(parameters):
    group = parallel_state.get_data_parallel_group()
    for parameter in parameters:
        dist.all_reduce(parameter.grad, group=group)
        parameter.grad.div_(group.size())


def mean_loss(loss):
    dist.all_reduce(loss, op=dist.ReduceOp.AVG, group=parallel_state.get_data_parallel_group())


def average_by_helper(loss):
    dist.all_reduce(loss, group=parallel_state.get_data_parallel_group())
    return shared(loss)


def shared(loss):
    return loss / parallel_state.get_data_parallel_world_size()
