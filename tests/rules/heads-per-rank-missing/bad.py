from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class FengwuDistributedAttention(nn.Module):  # [heads-per-rank-missing]
    def __init__(self, dim, num_heads, config):
        super().__init__()
        init = config.init_method
        self.num_heads, self.head_dim = num_heads, dim // num_heads
        self.qkv = ColumnParallelLinear(dim, 3 * dim, config=config, init_method=init, gather_output=False)
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        qkv, _ = self.qkv(x)
        q, k, v = qkv.unflatten(-1, (self.num_heads, 3, self.head_dim)).unbind(-2)
        out = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.proj(out.flatten(-2))[0]
