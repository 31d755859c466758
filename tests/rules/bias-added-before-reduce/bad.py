import torch
from megatron.core.tensor_parallel import reduce_from_tensor_model_parallel_region
from megatron.core.parallel_state import get_tensor_model_parallel_world_size
from torch import nn
from vllm.model_executor.layers.linear import RowParallelLinear


class SpectralMix(nn.Module):
    """A hand-written row-parallel product, its bias added on every rank."""

    def __init__(self, dim):
        super().__init__()
        self.local = dim // get_tensor_model_parallel_world_size()
        self.weight = nn.Parameter(torch.empty(dim, self.local))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        part = nn.functional.linear(x, self.weight)
        part = part + self.bias  # [bias-added-before-reduce]
        return reduce_from_tensor_model_parallel_region(part)


class LateReduce(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.out = RowParallelLinear(dim, dim, bias=False, reduce_results=False)
        self.shift = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        part, _ = self.out(x)
        return reduce_from_tensor_model_parallel_region(part + self.shift)  # [bias-added-before-reduce]
