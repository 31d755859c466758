"""nanotron's layers have neither parameter."""

from nanotron.parallel.tensor_parallel.nn import TensorParallelColumnLinear, TensorParallelRowLinear
from torch import nn


class Mlp(nn.Module):
    def __init__(self, dim, tp_pg, mode):
        super().__init__()
        self.up = TensorParallelColumnLinear(dim, 4 * dim, pg=tp_pg, mode=mode)
        self.down = TensorParallelRowLinear(4 * dim, dim, pg=tp_pg, mode=mode)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))
