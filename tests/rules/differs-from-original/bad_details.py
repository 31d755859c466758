"""Another epsilon, a width of another argument, a buffer that is saved, a mask that is dropped, rates that repeat."""

import torch
from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear


class FjordPart(nn.Module):
    def __init__(self, dim, rates):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.rates = rates

    def forward(self, x):
        return self.norm(x)


class FjordBlock(nn.Module):
    def __init__(self, dim, hidden=None, out=None, rates=(), depth=2, count=3):
        super().__init__()
        out = out or dim
        hidden = hidden or dim
        self.norm = nn.LayerNorm(dim)
        self.register_buffer("steps", torch.arange(8), persistent=False)
        self.fc1 = nn.Linear(dim, hidden)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden, out)
        self.parts = nn.ModuleList(
            FjordPart(dim, rates[index * depth : (index + 1) * depth]) for index in range(count)
        )

    def forward(self, obj):
        x, mask = obj["x"], obj.get("mask")
        land = None if mask is None else mask.flatten()
        x = torch.where(land, self.norm(x), x) if land is not None else self.norm(x)
        for part in self.parts:
            x = part(x)
        return self.fc2(self.act(self.fc1(x))) + torch.masked_fill(x, land, 0.0)


class FjordDistributedBlock(nn.Module):
    def __init__(self, dim, hidden=None, out=None, rates=(), depth=2, count=3, config=None):
        super().__init__()
        out = out or dim
        hidden = hidden or dim
        self.norm = nn.LayerNorm(dim, eps=1e-6)  # [differs-from-original]
        self.register_buffer("steps", torch.arange(8))  # [differs-from-original]
        self.fc1 = ColumnParallelLinear(
            dim, out, config=config, init_method=config.init_method, bias=True, gather_output=False  # [differs-from-original]
        )
        self.act = nn.GELU()
        self.fc2 = RowParallelLinear(
            hidden, out, config=config, init_method=config.init_method, bias=True, input_is_parallel=True
        )
        self.parts = nn.ModuleList(
            FjordPart(dim, rates[:depth]) for index in range(count)  # [differs-from-original]
        )

    def forward(self, obj):
        x, mask = obj["x"], obj.get("mask")
        land = None if mask is None else mask.flatten()
        x = torch.where(land, self.norm(x), x) if land is not None else self.norm(x)
        for part in self.parts:
            x = part(x)
        hidden, _ = self.fc1(x)
        out = self.fc2(self.act(hidden))[0]
        return out + torch.masked_fill(x, None, 0.0)  # [differs-from-original]
