import numpy as np
import torch
from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear


class Dune(nn.Module):
    def __init__(self, dim, table=None):
        super().__init__()
        if table is not None and not torch.is_tensor(table):
            if isinstance(table, str):
                table = np.load(table)
            table = torch.tensor(table, dtype=torch.float32)
        self.table = table
        self.embed = nn.Linear(2, dim)

    def forward(self, x):
        return x + self.embed(x)[None] * self.table


class DuneDistributed(nn.Module):
    def __init__(self, dim, table=None, config=None):
        super().__init__()
        if isinstance(table, str):
            table = np.load(table)
        if table is not None and not torch.is_tensor(table):
            table = torch.tensor(table, dtype=torch.float32)
        self.table = table
        self.embed = ColumnParallelLinear(
            2, dim, config=config, init_method=config.init_method, bias=True, gather_output=True
        )

    def forward(self, x):
        return x + self.embed(x)[0][None] * self.table
