from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class Wide(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.down = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=True,
        )

    def forward(self, x, only_bias=False):
        if only_bias:
            _, bias = self.down(x)
            return bias
        pair = self.down(x)
        return pair[0] + pair[1]
