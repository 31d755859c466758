"""Arguments that several layers have in common stand in one dict; a shape may be that of another tensor."""

import torch
from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear


class Tide(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Linear(dim, hidden, bias=False)
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim)

    def forward(self, x):
        y = self.up(x) * self.gate(x)
        y = self.down(y)
        return y * torch.ones(x.shape[:2], device=x.device).unsqueeze(-1)


class TideDistributed(nn.Module):
    def __init__(self, dim, hidden, config):
        super().__init__()
        common = {"config": config, "init_method": config.init_method, "bias": False, "gather_output": False}
        self.up = ColumnParallelLinear(dim, hidden, **common)
        others = dict(config=config, init_method=config.init_method, bias=False, gather_output=False)
        self.gate = ColumnParallelLinear(dim, hidden, **others)
        self.down = RowParallelLinear(
            hidden, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True
        )

    def forward(self, x):
        y = self.up(x)[0] * self.gate(x)[0]
        y, _ = self.down(y)
        return y * torch.ones(y.shape[:2], device=y.device).unsqueeze(-1)
