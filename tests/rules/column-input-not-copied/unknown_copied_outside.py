import torch
import torch.nn.functional as F
from megatron.core import parallel_state
from megatron.core.tensor_parallel import copy_to_tensor_model_parallel_region, reduce_from_tensor_model_parallel_region
from torch import nn


class Inner(nn.Module):
    """The block that holds it copies its input for all of its parts."""

    def __init__(self, config, wide):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        self.a = nn.Parameter(torch.empty(wide // ranks, config.hidden_size))
        self.b = nn.Parameter(torch.empty(config.hidden_size, wide // ranks))
        self.a.tensor_model_parallel = self.b.tensor_model_parallel = True

    def forward(self, x):
        return reduce_from_tensor_model_parallel_region(F.linear(F.linear(x, self.a), self.b))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inner = Inner(config, 64)

    def forward(self, x):
        return x + self.inner(copy_to_tensor_model_parallel_region(x))
