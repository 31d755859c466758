from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class WindowAttention(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        init = config.init_method
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.to_q = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.to_k = ColumnParallelLinear(
            dim, num_heads * self.head_dim, config=config, init_method=init, gather_output=False
        )

    def forward(self, x):
        windows, tokens, dim = x.shape
        q = self.to_q(x)[0].reshape(windows, tokens, self.num_heads, dim // self.num_heads)  # [full-heads-on-sharded-value]
        k, _ = self.to_k(x)
        k = k.view(windows, tokens, self.num_heads, self.head_dim)  # [full-heads-on-sharded-value]
        return q.transpose(1, 2) @ k.permute(0, 2, 3, 1)


class FusedAttention(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, dim // num_heads
        self.qkv = ColumnParallelLinear(
            dim, 3 * dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        batch, tokens, _ = x.shape
        qkv, _ = self.qkv(x)
        qkv = qkv.view(batch, tokens, self.num_heads, 3, self.head_dim)  # [full-heads-on-sharded-value]
        return qkv.unbind(3)
