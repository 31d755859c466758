import math
import torch
from megatron.core import parallel_state
from torch import nn


def trunc_normal_(tensor, std=1.0):
    with torch.no_grad():
        return tensor.uniform_(-1, 1).erfinv_().mul_(std * math.sqrt(2.0))


class HeadBias(nn.Module):
    def __init__(self, heads, size):
        super().__init__()
        per_rank = heads // parallel_state.get_tensor_model_parallel_world_size()
        self.table = nn.Parameter(torch.zeros(size, per_rank))
        self.table.tensor_model_parallel = True
        self.table = trunc_normal_(self.table, std=0.01)  # [same-init-on-all-ranks]

    def forward(self, x):
        return x + self.table
