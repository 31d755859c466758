from megatron.core.tensor_parallel import RowParallelLinear
from one_attention import OneAttention
from torch import nn


class EarthBlock(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        self.attn = OneAttention(style="EarthDistributed", dim=dim, num_heads=num_heads, config=config)
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=False,
        )

    def forward(self, x):
        out = self.attn(x)
        return x + self.proj(out)[0]  # [input-is-parallel-mismatch]
