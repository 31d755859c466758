"""Each rank takes its own part of the gate: nobody else has a gradient for it."""

import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Mlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.up = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=False)
        self.gate = nn.Parameter(torch.ones(4 * dim))
        self.down = RowParallelLinear(
            4 * dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )
        share = 4 * dim // parallel_state.get_tensor_model_parallel_world_size()
        self.start = share * parallel_state.get_tensor_model_parallel_rank()
        self.end = self.start + share

    def forward(self, x):
        h, _ = self.up(x)
        h = torch.relu(h) * self.gate[self.start : self.end]
        return self.down(h)[0]


def step(model, x, optimizer):
    model(x).sum().backward()
    optimizer.step()
