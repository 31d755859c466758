"""The argument of a forward may be split or full: the caller knows."""

import torch
from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class OutputProjection(nn.Module):
    def __init__(self, dim, config, split):
        super().__init__()
        init = config.init_method
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )
        self.computed = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=split, skip_bias_add=False
        )

    def forward(self, context):
        return self.proj(torch.relu(context))[0] + self.computed(context.flatten(1))[0]
