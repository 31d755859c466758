from fairscale.nn.model_parallel.layers import ColumnParallelLinear, RowParallelLinear
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w1 = ColumnParallelLinear(dim, 4 * dim, bias=False, gather_output=False)
        self.w2 = RowParallelLinear(4 * dim, dim, bias=False)  # [input-is-parallel-implicit]

    def forward(self, x):
        return self.w2(nn.functional.silu(self.w1(x)))
