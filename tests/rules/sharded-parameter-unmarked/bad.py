import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class LevelBias(nn.Module):
    """A bias of each head, split over the ranks like the heads."""

    def __init__(self, heads, tokens, config):
        super().__init__()
        self.heads_per_rank = heads // parallel_state.get_tensor_model_parallel_world_size()
        self.q = ColumnParallelLinear(tokens, tokens, config=config, init_method=config.init_method)
        self.table = nn.Parameter(torch.zeros(self.heads_per_rank, tokens))  # [sharded-parameter-unmarked]

    def forward(self, x):
        return self.q(x)[0] + self.table
