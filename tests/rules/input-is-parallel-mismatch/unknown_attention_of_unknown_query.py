from flash_attn import flash_attn_func
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class Attention(nn.Module):
    """A split key says nothing of the output."""

    def __init__(self, dim, config):
        super().__init__()
        self.k = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=False,
        )

    def forward(self, q, x):
        k = self.k(x)[0]
        return self.proj(flash_attn_func(q, k, k))[0]
