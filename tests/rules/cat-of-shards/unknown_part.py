import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Join(nn.Module):
    """One part is the caller's: it may have been laid out for this; the dimension of the other is a parameter."""

    def __init__(self, dim, config, axis):
        super().__init__()
        init = config.init_method
        self.axis = axis
        self.a = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.out = RowParallelLinear(
            2 * dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x, other):
        a, _ = self.a(x)
        return self.out(torch.cat([a, other], dim=-1))[0], self.out(torch.cat([a, a], dim=self.axis))[0]
