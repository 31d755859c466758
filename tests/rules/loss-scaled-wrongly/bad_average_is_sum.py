import torch.distributed as dist
from megatron.core import parallel_state


def average_over_replicas(parameters):
    group = parallel_state.get_data_parallel_group()
    for parameter in parameters:
        dist.all_reduce(parameter.grad, group=group)  # [loss-scaled-wrongly]
