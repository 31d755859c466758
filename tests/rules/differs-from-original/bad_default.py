"""A rate that nobody gives has another default."""

import torch
from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear


class DuneBlock(nn.Module):
    def __init__(self, dim, hidden, window=(4, 8), drop=0.0, attn_drop=0.0):
        super().__init__()
        self.window = window
        self.shift = tuple(side // 2 for side in window)
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.table = nn.Parameter(torch.zeros(dim))
        nn.init.trunc_normal_(self.table, std=0.02)
        self.fc1 = nn.Linear(dim, hidden)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden, dim)
        self.drop = nn.Dropout(drop)
        self.mix = nn.Dropout(attn_drop)

    def forward(self, x, skip):
        y = torch.roll(self.norm1(x), shifts=(-self.shift[0], -self.shift[1]), dims=(1, 2))
        y = torch.cat([self.mix(y), skip], dim=-1) + self.table
        y = self.fc2(self.act(self.fc1(y)))
        return self.norm2(x + self.drop(y))


class DuneDistributedBlock(nn.Module):
    def __init__(self, dim, hidden, window=(4, 8), drop=0.1, attn_drop=0.0, config=None):  # [differs-from-original]
        super().__init__()
        self.window = window
        self.shift = tuple(side // 2 for side in window)
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.table = nn.Parameter(torch.zeros(dim))
        nn.init.trunc_normal_(self.table, std=0.02)
        self.fc1 = ColumnParallelLinear(
            dim, hidden, config=config, init_method=config.init_method, bias=True, gather_output=False
        )
        self.act = nn.GELU()
        self.fc2 = RowParallelLinear(
            hidden, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True
        )
        self.drop = nn.Dropout(drop)
        self.mix = nn.Dropout(attn_drop)

    def forward(self, x, skip):
        rolled = torch.roll(self.norm1(x), shifts=(-self.shift[0], -self.shift[1]), dims=(1, 2))
        joined = torch.cat([self.mix(rolled), skip], dim=-1).contiguous() + self.table
        hidden, _ = self.fc1(joined)
        out = self.fc2(self.act(hidden))[0]
        return self.norm2(x + self.drop(out))
