"""The same sizes by another formula; a dropout that stands elsewhere, and one by its function."""

from torch import nn
from torch.nn import functional as F

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear


class MoorBlock(nn.Module):
    def __init__(self, dim, hidden, window, drop=0.0):
        super().__init__()
        self.shift = tuple(side // 2 for side in window)
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        x = x.roll(self.shift, dims=(1, 2))
        return self.fc2(self.drop(self.fc1(x)))


class MoorDistributedBlock(nn.Module):
    def __init__(self, dim, hidden, window, drop=0.0, config=None):
        super().__init__()
        self.shift = tuple((side - side % 2) // 2 for side in window)
        self.rate = drop
        self.fc1 = ColumnParallelLinear(
            dim, hidden, config=config, init_method=config.init_method, bias=True, gather_output=False
        )
        self.fc2 = RowParallelLinear(
            hidden, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True
        )

    def forward(self, x):
        x = x.roll(self.shift, dims=(1, 2))
        hidden, _ = self.fc1(x)
        out, _ = self.fc2(F.dropout(hidden, self.rate, self.training))
        return out
