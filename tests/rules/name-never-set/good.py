from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from graphs import Graph

HAS_TE = False


class IceDistributedFuser(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        before = None
        for index in range(depth):
            if index:
                print(before, last)
            last = index
        self.norm = nn.LayerNorm(dim)
        if HAS_TE and dim > 8:
            self.norm = te.LayerNorm(dim)
        self.names = [name for name in ("a", "b")]

    def forward(self, x, graph: Graph):
        try:
            return compiled(x)
        except NameError:
            return self.norm(torch.relu(x)), __file__
