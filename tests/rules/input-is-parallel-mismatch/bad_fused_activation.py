from fused import bias_swiglu_impl, offload
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class MLP(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.up = ColumnParallelLinear(dim, 8 * dim, config=config, init_method=config.init_method, gather_output=False)
        self.down = RowParallelLinear(
            4 * dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=False,
        )

    def forward(self, x):
        h, bias = self.up(x)
        h = bias_swiglu_impl(h, bias, False)
        with offload(h) as h:
            return self.down(h)[0]  # [input-is-parallel-mismatch]
