"""The layers of Apex return pairs, as Megatron's do."""

import torch.nn.functional as F
from apex.transformer.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = ColumnParallelLinear(dim, hidden, gather_output=False)
        self.down = RowParallelLinear(hidden, dim, input_is_parallel=True)

    def forward(self, x):
        h = F.gelu(self.up(x))  # [parallel-linear-tuple-used]
        out, _ = self.down(h)
        return out
