"""A column layer gathers its output, and the row layer behind it was told that it is split: the gather is one too many."""

import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class GatedDistributedMlp(nn.Module):
    def __init__(self, dim, hidden, config):
        super().__init__()
        init = config.init_method
        self.enter = ColumnParallelLinear(
            dim, hidden, config=config, init_method=init, bias=True, gather_output=True
        )
        self.leave = RowParallelLinear(
            hidden, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        hidden, _ = self.enter(x)
        hidden = F.gelu(hidden)
        out, _ = self.leave(hidden)  # [input-is-parallel-mismatch]
        return out
