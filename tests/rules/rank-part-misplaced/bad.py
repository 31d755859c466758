import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import set_tensor_model_parallel_attributes
from torch import nn


def shard_range(total, rank, world):
    per = total // world
    return rank * per, (rank + 1) * per


def own(t, dim, rank, world):
    lo, hi = shard_range(t.shape[dim], rank, world)
    return t.narrow(dim, lo, hi)  # [rank-part-misplaced]


def stage_layers(total):
    stages = parallel_state.get_pipeline_model_parallel_world_size()
    per_stage = total // stages
    return parallel_state.get_pipeline_model_parallel_rank() * total, per_stage  # [rank-part-misplaced]


class Table(nn.Module):
    def __init__(self, heads, config):
        super().__init__()
        tp_size = config.tensor_model_parallel_size
        self.heads_per_rank = heads // tp_size
        self.table = nn.Parameter(self.part(heads))

    def part(self, heads):
        whole = torch.zeros(heads, 3)
        first = parallel_state.get_tensor_model_parallel_rank() * heads
        return whole.narrow(0, first, self.heads_per_rank)  # [rank-part-misplaced]


class Slopes(nn.Module):
    def __init__(self, heads, config):
        super().__init__()
        self.heads_per_rank = heads // config.tensor_model_parallel_size
        self.slopes = nn.Parameter(self.part(heads))
        set_tensor_model_parallel_attributes(self.slopes, True, 0, 1)

    def part(self, heads):
        first = 0
        return torch.zeros(heads, 3).narrow(0, first, self.heads_per_rank)  # [rank-part-misplaced]


class Bias(nn.Module):
    def __init__(self, heads, config):
        super().__init__()
        self.heads_per_rank = heads // config.tensor_model_parallel_size
        self.bias = nn.Parameter(self.part(heads))

    def part(self, heads):
        whole = torch.zeros(heads, 3)
        first = parallel_state.get_tensor_model_parallel_rank()
        return whole.narrow(0, first, self.heads_per_rank)  # [rank-part-misplaced]
