import torch
from megatron.core import parallel_state
from torch import nn


def shard_range(total, rank, world):
    per = total // world
    return rank * per, (rank + 1) * per


def own(t, dim, rank, world):
    lo, hi = shard_range(t.shape[dim], rank, world)
    return t.narrow(dim, lo, hi - lo)


def stage_layers(total):
    stages = parallel_state.get_pipeline_model_parallel_world_size()
    per_stage = total // stages
    return parallel_state.get_pipeline_model_parallel_rank() * per_stage, per_stage


class Table(nn.Module):
    def __init__(self, heads, config):
        super().__init__()
        tp_size = config.tensor_model_parallel_size
        self.heads_per_rank = heads // tp_size
        self.table = nn.Parameter(self.part(heads))

    def part(self, heads):
        whole = torch.zeros(heads, 3)
        first = parallel_state.get_tensor_model_parallel_rank() * self.heads_per_rank
        return whole.narrow(0, first, self.heads_per_rank)
