import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class Narrow(nn.Module):
    """What it does makes it column-parallel."""

    def __init__(self, dim):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        self.weight = nn.Parameter(torch.empty(dim // tp, dim))

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight)


class Wide(nn.Module):
    """What it does makes it row-parallel."""

    def __init__(self, dim):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        self.weight = nn.Parameter(torch.empty(dim, dim // tp))

    def forward(self, x):
        y = torch.nn.functional.linear(x, self.weight)
        dist.all_reduce(y, group=parallel_state.get_tensor_model_parallel_group())
        return y


class Block(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.narrow, self.wide = Narrow(dim), Wide(dim)
        self.one = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=False,
        )
        self.two = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        y = self.one(self.narrow(x))[0]  # [input-is-parallel-mismatch]
        return y + self.two(self.wide(self.narrow(x)))[0]  # [input-is-parallel-mismatch]
