"""The all-reduce after a linear layer of one rank's inputs is left out; an adapter makes a summand beside a whole sum."""

import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, hidden // ranks)
        self.down = nn.Linear(hidden // ranks, dim, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))  # [partial-sum-escapes]


class Adapted(nn.Module):
    def __init__(self, inputs, outputs, rank, config):
        super().__init__()
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        self.base = RowParallelLinear(
            inputs, outputs, config=config, init_method=config.init_method, bias=False,
            input_is_parallel=True, skip_bias_add=False,
        )
        self.into = nn.Linear(inputs // ranks, rank, bias=False)
        self.out = nn.Linear(rank, outputs, bias=False)

    def forward(self, x):
        y, _ = self.base(x)
        return y + self.out(self.into(x))  # [partial-sum-escapes]
