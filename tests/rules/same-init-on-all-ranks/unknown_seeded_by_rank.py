import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


def start(seed, rank):
    torch.manual_seed(seed + rank)


class LevelBias(nn.Module):
    def __init__(self, heads, tokens, config):
        super().__init__()
        self.heads_here = heads // parallel_state.get_tensor_model_parallel_world_size()
        self.q = ColumnParallelLinear(tokens, tokens, config=config, init_method=config.init_method)
        self.table = nn.Parameter(0.02 * torch.randn(self.heads_here, tokens))
        setattr(self.table, "tensor_model_parallel", True)

    def forward(self, x):
        return self.q(x)[0] + self.table
