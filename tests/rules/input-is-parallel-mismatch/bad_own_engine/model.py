from linear import ColumnParallelLinear, RowParallelLinear
from torch import nn


class MLP(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up = ColumnParallelLinear(dim, 4 * dim)
        self.down = RowParallelLinear(4 * dim, dim, return_bias=False)
        self.out = RowParallelLinear(dim, dim)

    def forward(self, x):
        x = self.down(self.up(x))
        return self.out(x)[0]  # [input-is-parallel-mismatch]
