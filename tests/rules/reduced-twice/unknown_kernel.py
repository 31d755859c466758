"""The kernel writes the experts' partial sums into the whole value that it was given."""

import torch
from torch import nn
from vllm.distributed import get_tensor_model_parallel_world_size, tensor_model_parallel_all_reduce
from vllm.model_executor.layers.linear import RowParallelLinear


def mixed(**given):
    torch.ops.experts.mix(**given)
    return given["hidden"]


class Experts(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(8, dim // get_tensor_model_parallel_world_size(), dim))

    def forward(self, hidden):
        return tensor_model_parallel_all_reduce(mixed(hidden=hidden, weight=self.weight))


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.o_proj = RowParallelLinear(dim, dim)
        self.experts = Experts(dim)

    def forward(self, x):
        out, _ = self.o_proj(x)
        return self.experts(out)
