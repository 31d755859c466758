import torch
import torch.distributed._functional_collectives as funcol
from torch import nn


class RowLinear(nn.Module):
    def __init__(self, i, o, mesh):
        super().__init__()
        self.mesh = mesh
        self.weight = nn.Parameter(torch.empty(o, i // mesh.size()))

    def forward(self, x):
        y = x @ self.weight.mT
        funcol.all_reduce(y, "sum", self.mesh)  # [collective-result-discarded]
        return y
