"""The dropout of the split value is left out, the one of the result is kept: where it stands is the author's choice."""

from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class NetMlp(nn.Module):
    def __init__(self, dim, hidden, drop=0.0):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        x = self.drop(self.act(self.fc1(x)))
        return self.drop(self.fc2(x))


class NetDistributedMlp(nn.Module):
    def __init__(self, dim, hidden, drop=0.0, config=None):
        super().__init__()
        same = dict(config=config, init_method=config.init_method)
        self.fc1 = ColumnParallelLinear(dim, hidden, gather_output=False, **same)
        self.act = nn.GELU()
        self.fc2 = RowParallelLinear(
            hidden, dim, input_is_parallel=True, bias=True, skip_bias_add=False, **same
        )
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        x = self.act(self.fc1(x)[0])
        return self.drop(self.fc2(x)[0])
