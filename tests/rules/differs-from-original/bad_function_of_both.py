"""A function of the tree that both sides call is given less, and called once less."""

from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear


def coarser(mask):
    """Half as many cells."""
    return mask[::2]


def weighed(x, factor, mask=None):
    """What the mask leaves."""
    return x * factor if mask is None else x * factor * mask


class ReedBlock(nn.Module):
    def __init__(self, dim, hidden, factor):
        super().__init__()
        self.factor = factor
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x, mask):
        x = self.fc2(self.fc1(x).relu())
        return weighed(x, self.factor, coarser(coarser(mask)))


class ReedDistributedBlock(nn.Module):
    def __init__(self, dim, hidden, factor, config=None):
        super().__init__()
        self.factor = factor
        self.fc1 = ColumnParallelLinear(
            dim, hidden, config=config, init_method=config.init_method, bias=True, gather_output=False
        )
        self.fc2 = RowParallelLinear(
            hidden, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True
        )

    def forward(self, x, mask):
        x = self.fc2(self.fc1(x)[0].relu())[0]
        return weighed(x, self.factor, coarser(mask))  # [differs-from-original]
