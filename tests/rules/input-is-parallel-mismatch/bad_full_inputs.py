"""Every kind of input that is full, given to a layer that takes it as split."""

import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


def row(width, out, config):
    return RowParallelLinear(
        width, out, config=config, init_method=config.init_method, bias=True, input_is_parallel=True, skip_bias_add=False
    )


class AfterLinear(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.embed = nn.Linear(dim, dim)
        self.proj = row(dim, dim, config)

    def forward(self, x):
        x = self.embed(x)
        x = nn.functional.gelu(x)
        return self.proj(x)[0]  # [input-is-parallel-mismatch]


class AfterRow(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.fc1 = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.fc2 = row(dim, dim, config)
        self.fc3 = row(dim, dim, config)

    def forward(self, x):
        x, _ = self.fc1(x)
        x, _ = self.fc2(x)
        return self.fc3(x.flatten(1))[0]  # [input-is-parallel-mismatch]


class AfterGather(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.fc1 = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=True)
        self.fc2 = row(dim, dim, config)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)[0]))[0]  # [input-is-parallel-mismatch]


class AfterCat(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.local = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.skip = nn.Linear(dim, dim)
        self.merge = row(2 * dim, dim, config)

    def forward(self, x, skip):
        both = torch.cat([self.local(x)[0], self.skip(skip)], dim=-1)
        return self.merge(both)[0]  # [input-is-parallel-mismatch]
