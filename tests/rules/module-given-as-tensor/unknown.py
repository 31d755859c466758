import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear
from parts import table
from torch import nn


class Edges(nn.Module):
    def __init__(self, dim, config, weight=None):
        super().__init__()
        self.source = table(dim)
        self.target = nn.Linear(dim, dim) if weight is None else weight
        self.project = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x, y):
        return F.linear(x, self.source) + F.linear(y, self.target)
