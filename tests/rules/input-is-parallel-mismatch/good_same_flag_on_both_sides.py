"""One flag decides the kind of the input and what the layer believes of it."""

from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Mlp(nn.Module):
    def __init__(self, dim, config, split):
        super().__init__()
        init = config.init_method
        if split:
            self.fc1 = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
            self.fc2 = RowParallelLinear(
                dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
            )
        else:
            self.fc1 = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=True)
            self.fc2 = RowParallelLinear(
                dim, dim, config=config, init_method=init, bias=True, input_is_parallel=False, skip_bias_add=False
            )

    def forward(self, x):
        hidden, _ = self.fc1(x)
        return self.fc2(hidden.relu())[0]
