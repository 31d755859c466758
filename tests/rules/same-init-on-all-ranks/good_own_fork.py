import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import get_cuda_rng_tracker
from torch import nn


def trunc_normal_(tensor, std=1.0):
    with torch.no_grad():
        return tensor.normal_(0, std)


def zeros_like_(tensor):
    return tensor.zero_()


class HeadBias(nn.Module):
    def __init__(self, heads, size):
        super().__init__()
        per_rank = heads // parallel_state.get_tensor_model_parallel_world_size()
        self.table = nn.Parameter(torch.zeros(size, per_rank))
        self.table.tensor_model_parallel = True
        with get_cuda_rng_tracker().fork():
            trunc_normal_(self.table, std=0.01)

    def forward(self, x):
        return x + self.table
