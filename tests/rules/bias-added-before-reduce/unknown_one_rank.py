"""The bias is there on one rank only; another may be None there."""

import torch
from megatron.core.parallel_state import get_tensor_model_parallel_rank, get_tensor_model_parallel_world_size
from megatron.core.tensor_parallel import reduce_from_tensor_model_parallel_region
from torch import nn


class RankBias(nn.Module):
    def __init__(self, dim):
        super().__init__()
        local = dim // get_tensor_model_parallel_world_size()
        self.weight = nn.Parameter(torch.empty(dim, local))
        self.bias = nn.Parameter(torch.zeros(dim)) if get_tensor_model_parallel_rank() == 0 else None

    def forward(self, x):
        part = nn.functional.linear(x, self.weight, self.bias)
        return reduce_from_tensor_model_parallel_region(part)


class GivenBias(nn.Module):
    def __init__(self, dim):
        super().__init__()
        local = dim // get_tensor_model_parallel_world_size()
        self.weight = nn.Parameter(torch.empty(dim, local))

    def forward(self, x, bias):
        return reduce_from_tensor_model_parallel_region(nn.functional.linear(x, self.weight) + bias)
