import torch
import torch.distributed as dist
from megatron.core import parallel_state


def send_on(x, pp_group):
    rank = dist.get_rank(pp_group)
    if rank < dist.get_world_size(pp_group) - 1:
        dist.send(x, dst=dist.get_global_rank(pp_group, rank + 1), group=pp_group)


def send_over_all(x, group=None):
    rank = dist.get_rank(group)
    dist.send(x, dst=rank + 1, group=group)


def tell_all(report):
    value = torch.zeros(1)
    if parallel_state.is_pipeline_last_stage():
        value.fill_(report)
    group = parallel_state.get_pipeline_model_parallel_group()
    dist.broadcast(value, src=parallel_state.get_pipeline_model_parallel_last_rank(), group=group)
    return value


def tell_both(report, other):
    value = torch.zeros(1)
    if parallel_state.is_pipeline_first_stage():
        value.fill_(report)
    if parallel_state.is_pipeline_last_stage():
        value.fill_(other)
    group = parallel_state.get_pipeline_model_parallel_group()
    dist.broadcast(value, src=parallel_state.get_pipeline_model_parallel_last_rank(), group=group)
    return value
