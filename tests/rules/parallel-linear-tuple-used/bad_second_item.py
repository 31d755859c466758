from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Wide(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.up = ColumnParallelLinear(
            dim, 4 * dim, config=config, init_method=config.init_method, gather_output=False
        )
        self.down = RowParallelLinear(
            4 * dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        _, x = self.up(x)  # [parallel-linear-tuple-used]
        return self.down(x)[-1]  # [parallel-linear-tuple-used]
