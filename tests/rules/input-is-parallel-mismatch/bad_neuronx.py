import torch
from neuronx_distributed.parallel_layers import ColumnParallelLinear, RowParallelLinear
from torch import nn


class MLP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up = ColumnParallelLinear(dim, 4 * dim, bias=False, gather_output=False)
        self.down = RowParallelLinear(4 * dim, dim, bias=False, input_is_parallel=True)
        self.out = RowParallelLinear(dim, dim, bias=False, input_is_parallel=True)

    def forward(self, x):
        x = self.down(torch.nn.functional.silu(self.up(x)))
        return self.out(x)  # [input-is-parallel-mismatch]
