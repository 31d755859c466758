"""A size worked out in each turn of a loop by another formula; another kind of dropout."""

from dataclasses import dataclass

from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear


class DropPath(nn.Module):
    def __init__(self, rate=0.0):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        return x * (1 - self.rate)


@dataclass(frozen=True)
class Grid:
    size: int
    window: int
    shift: int = 0


class FjordBlock(nn.Module):
    def __init__(self, dim, window, rate=0.0):
        super().__init__()
        self.shift = tuple(side // 2 for side in window)
        self.grid = Grid(dim, 4, 2)
        self.proj = nn.Linear(dim, dim)
        self.drop_path = DropPath(rate)

    def forward(self, x):
        return x.roll(self.shift, dims=(1, 2)) + self.drop_path(self.proj(x))


class FjordDistributedBlock(nn.Module):
    def __init__(self, dim, window, rate=0.0, config=None):
        super().__init__()
        self.shift = tuple((side + 1) // 2 for side in window)  # [differs-from-original]
        self.grid = Grid(dim, 2, 4)  # [differs-from-original]
        self.proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, gather_output=True
        )
        self.drop_path = nn.Dropout(rate)  # [differs-from-original]

    def forward(self, x):
        out, _ = self.proj(x)
        return x.roll(self.shift, dims=(1, 2)) + self.drop_path(out)
