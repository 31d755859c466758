import torch.nn.functional as F
from torch import nn


class RowParallelLinear(nn.Module):
    def __init__(self, input_size, output_size, comm):
        super().__init__()
        self.weight = nn.Parameter(F.pad(output_size, input_size // comm.size))
        self.comm = comm

    def forward(self, x):
        y = F.linear(x, self.weight)
        if self.comm.size > 1:
            y = self.comm.all_reduce(y)
        return y


class ColumnParallelLinear(nn.Module):
    def __init__(self, input_size, output_size, comm):
        super().__init__()
        self.weight = nn.Parameter(F.pad(output_size // comm.size, input_size))

    def forward(self, x):
        return F.linear(x, self.weight)


class Mlp(nn.Module):
    def __init__(self, dim, comm):
        super().__init__()
        self.up = ColumnParallelLinear(dim, 4 * dim, comm)
        self.down = RowParallelLinear(4 * dim, dim, comm)

    def forward(self, x):
        return self.down.forward(F.relu(self.up.forward(x)))
