import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Merge(nn.Module):
    """Each half has its row layer; tokens are joined on the sequence."""

    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.a = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.b = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.out_a = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )
        self.out_b = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        a, b = self.a(x)[0], self.b(x)[0]
        tokens = torch.cat([a, b], dim=1)
        return self.out_a(a)[0] + self.out_b(b)[0], self.out_a(tokens)[0]
