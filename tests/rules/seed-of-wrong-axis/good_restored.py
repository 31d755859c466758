import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Block(nn.Module):
    """The parts are drawn anew from a seed of each rank, and the generator goes on as before."""

    def __init__(self, dim, config):
        super().__init__()
        self.inner = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def draw_parts(self):
        state = torch.get_rng_state()
        torch.manual_seed(parallel_state.get_tensor_model_parallel_rank())
        nn.init.xavier_uniform_(self.inner.weight)
        torch.set_rng_state(state)

    def forward(self, x):
        return self.inner(x)[0]
