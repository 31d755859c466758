import torch
import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Edges(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.source = nn.Parameter(torch.zeros(dim, dim))
        self.target = nn.Linear(dim, dim)
        self.project = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x, y):
        x = F.linear(x, self.source) + F.linear(y, self.target.weight)
        return self.project(x)[0]
