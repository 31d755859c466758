from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Mlp(nn.Module):
    def __init__(self, dim, config, gather):
        super().__init__()
        init = config.init_method
        self.up = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=gather)
        self.down = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=not gather, skip_bias_add=False
        )

    def forward(self, x):
        return self.down(self.up(x)[0])[0]
