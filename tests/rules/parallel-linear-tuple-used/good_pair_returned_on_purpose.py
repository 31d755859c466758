"""A layer of the Megatron kind hands the pair to a caller that unpacks it."""

from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class SelfAttentionOutput(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.linear_proj = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=True,
        )

    def forward(self, context):
        output, bias = self.linear_proj(context)
        return output, bias


class Layer(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.attention = SelfAttentionOutput(dim, config)

    def forward(self, x):
        attention_output, attention_bias = self.attention(x)
        return x + attention_output + attention_bias
