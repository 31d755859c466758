"""Buffers and modules registered under names that are put together: any attribute may be one of them."""

import torch
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Tables(nn.Module):
    def __init__(self, sizes, config):
        super().__init__()
        for axis, size in enumerate(sizes):
            self.register_buffer(f"table_{axis}", torch.arange(size), persistent=False)
        self.fc = ColumnParallelLinear(8, 8, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, rows, columns):
        return self.fc(self.table_0[rows] + self.table_1[columns])[0]


class Named(nn.Module):
    def __init__(self, names, width):
        super().__init__()
        for name in names:
            self.add_module(
                name,
                nn.Linear(width, width),
            )

    def forward(self, x):
        return self.second(self.first(x))
