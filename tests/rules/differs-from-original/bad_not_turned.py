"""The original mixes over tokens, turned there and back; the split code never turns. Hidden features are not dropped."""

from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear


class TidePart(nn.Module):
    def __init__(self, dim, hidden, drop=0.0):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        return self.fc2(self.drop(self.act(self.fc1(x))))


class TideDistributedPart(nn.Module):
    def __init__(self, dim, hidden, drop=0.0, config=None):
        super().__init__()
        self.fc1 = ColumnParallelLinear(
            dim, hidden, config=config, init_method=config.init_method, bias=True, gather_output=False
        )
        self.act = nn.GELU()
        self.fc2 = RowParallelLinear(
            hidden, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True
        )
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        hidden, _ = self.fc1(x)
        out, _ = self.fc2(self.act(hidden))  # [differs-from-original]
        return out


class TideMixer(nn.Module):
    def __init__(self, dim, groups):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.part = TidePart(groups, 4 * groups)

    def forward(self, x):
        return x + self.part(self.norm(x).transpose(1, 2)).transpose(1, 2)


class TideDistributedMixer(nn.Module):
    def __init__(self, dim, groups, config=None):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.part = TideDistributedPart(groups, 4 * groups, config=config)

    def forward(self, x):
        return x + self.part(self.norm(x))  # [differs-from-original]
