import torch
import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class TiedHead(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.out = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )
        self.wide = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=True)

    def forward(self, x):
        hidden = F.linear(x, self.wide.weight, self.wide.bias)  # [parallel-layer-bypassed]
        return F.linear(hidden, weight=self.out.weight)  # [parallel-layer-bypassed]
