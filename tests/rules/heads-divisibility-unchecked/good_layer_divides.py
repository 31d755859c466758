import torch
from torch import nn

from megatron.core.tensor_parallel import RowParallelLinear
from megatron.core.utils import divide
from megatron.core.parallel_state import get_tensor_model_parallel_world_size


class HeadsProjection(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.per_rank = divide(heads, get_tensor_model_parallel_world_size())
        self.weight = nn.Parameter(torch.empty(self.per_rank * dim, dim))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight)


class Mixer(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        self.heads = num_heads // get_tensor_model_parallel_world_size()
        self.project = HeadsProjection(dim // num_heads, num_heads)
        self.out = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        return self.out(self.project(x))[0]
