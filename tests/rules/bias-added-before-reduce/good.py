import torch
from megatron.core.parallel_state import get_tensor_model_parallel_world_size
from megatron.core.tensor_parallel import reduce_from_tensor_model_parallel_region
from torch import nn


class SpectralMix(nn.Module):
    def __init__(self, dim):
        super().__init__()
        local = dim // get_tensor_model_parallel_world_size()
        self.weight = nn.Parameter(torch.empty(dim, local))
        self.columns = nn.Parameter(torch.empty(local, dim))
        self.column_bias = nn.Parameter(torch.zeros(local))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        hidden = nn.functional.linear(x, self.columns, self.column_bias)
        part = nn.functional.linear(hidden, self.weight)
        return reduce_from_tensor_model_parallel_region(part) + self.bias


class SharedBias(nn.Module):
    """Each rank adds its share of the bias, as SwissArmyTransformer does."""

    def __init__(self, dim):
        super().__init__()
        local = dim // get_tensor_model_parallel_world_size()
        self.weight = nn.Parameter(torch.empty(dim, local))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        share = self.bias / get_tensor_model_parallel_world_size()
        part = nn.functional.linear(x, self.weight, share)
        return reduce_from_tensor_model_parallel_region(part + share)
