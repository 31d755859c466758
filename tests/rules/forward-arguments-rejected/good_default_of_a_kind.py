import enum

from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class Grid(enum.Enum):
    REGULAR = 1
    REDUCED = 2


class Regular(nn.Module):
    def forward(self, x):
        return x


class Reduced(nn.Module):
    def forward(self, x, rows=None):
        return x


class Mixer(nn.Module):
    def __init__(self, dim, config, grid=Grid.REGULAR):
        super().__init__()
        self.grid = grid
        self.inner = Reduced() if grid == Grid.REDUCED else Regular()
        self.out = RowParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            input_is_parallel=False,
            skip_bias_add=False,
        )

    def forward(self, x, rows=None):
        if rows is not None:
            assert self.grid == Grid.REDUCED
            return self.out(self.inner(x, rows=rows))[0]
        return self.out(self.inner(x))[0]
