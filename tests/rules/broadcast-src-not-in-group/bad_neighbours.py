import torch
import torch.distributed as dist
from megatron.core import parallel_state


def send_on(x, pp_group):
    rank = dist.get_rank(pp_group)
    if rank < dist.get_world_size(pp_group) - 1:
        dist.send(x, dst=rank + 1, group=pp_group)  # [broadcast-src-not-in-group]


def tell_all(report):
    value = torch.zeros(1)
    if parallel_state.is_pipeline_first_stage():
        value.fill_(report)
    last = parallel_state.get_pipeline_model_parallel_last_rank()
    group = parallel_state.get_pipeline_model_parallel_group()
    dist.broadcast(value, src=parallel_state.get_pipeline_model_parallel_last_rank(), group=group)  # [broadcast-src-not-in-group]
    return value, last


class Pipe:
    def __init__(self, pipe_group):
        self.pipe_group = pipe_group
        self.stage = dist.get_rank(pipe_group)

    def send_gradient(self, gradient):
        dist.send(gradient, dst=self.stage - 1, group=self.pipe_group)  # [broadcast-src-not-in-group]
