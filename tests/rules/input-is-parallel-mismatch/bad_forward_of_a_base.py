from torch import distributed as dist
from torch import nn
from torch.nn import functional as F


class LinearBase(nn.Module):
    def __init__(self, input_size, output_size, tp_dim, tp_size):
        super().__init__()
        sizes = [output_size, input_size]
        sizes[tp_dim] = sizes[tp_dim] // tp_size
        self.weight = nn.Parameter(sizes)
        self.tp_dim, self.tp_size = tp_dim, tp_size

    def forward(self, x):
        y = F.linear(x, self.weight)
        if self.tp_dim == 1 and self.tp_size > 1:
            dist.all_reduce(y)
        return y


class ColumnParallelLinear(LinearBase):
    def __init__(self, input_size, output_size, tp_size):
        super().__init__(input_size, output_size, 0, tp_size)


class RowParallelLinear(LinearBase):
    def __init__(self, input_size, output_size, tp_size):
        super().__init__(input_size, output_size, 1, tp_size)


class Mlp(nn.Module):
    def __init__(self, dim, tp_size):
        super().__init__()
        self.up = ColumnParallelLinear(dim, 4 * dim, tp_size)
        self.down = RowParallelLinear(4 * dim, dim, tp_size)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


class Head(nn.Module):
    def __init__(self, dim, tp_size):
        super().__init__()
        self.widen = nn.Linear(dim, 4 * dim)
        self.down = RowParallelLinear(4 * dim, dim, tp_size)

    def forward(self, x):
        return self.down(self.widen(x))  # [input-is-parallel-mismatch]
