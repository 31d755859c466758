import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps


class Trainer:
    def __init__(self, model):
        self.model = model
        self.group = ps.get_model_parallel_group()
        self.is_main = dist.get_rank() == 0

    def norm(self, total):
        if ps.is_pipeline_first_stage():
            dist.all_reduce(total, group=self.group)  # [collective-in-rank-branch]
        return total.sqrt()

    def tell(self, loss):
        if ps.is_pipeline_last_stage():
            dist.broadcast(  # [collective-in-rank-branch]
                loss, src=ps.get_pipeline_model_parallel_last_rank(), group=ps.get_pipeline_model_parallel_group()
            )
        return loss

    def save(self, path):
        if self.is_main:
            self._write(path)  # [collective-in-rank-branch]

    def _write(self, path):
        torch.save(self.model.state_dict(), path)
        dist.barrier()


def peers():
    group = None
    if dist.get_rank() % 2 == 0:
        group = dist.new_group(list(range(0, dist.get_world_size(), 2)))  # [collective-in-rank-branch]
    return group


def mean(value):
    rank = ps.get_data_parallel_rank()
    return _mean(value) if rank == 0 else value  # [collective-in-rank-branch]


def _mean(value, group=None):
    group = group or ps.get_data_parallel_group()
    dist.all_reduce(value, group=ps.get_data_parallel_group())
    return value / ps.get_data_parallel_world_size()
