"""Attention inside windows, split by heads over tensor-parallel ranks.

# B batch, W windows, N cells of a window, C channel, H heads
"""

from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn
from torch.nn import functional as F

from .swirlattention import cell_distances


class SwirlDistributedAttention(nn.Module):
    """SwirlAttention with parallel layers.

    Input and output: (B, W, N, C), the same on all ranks; blocked: (W, N, N) or None.
    """

    def __init__(self, dim, num_heads, window_size, bias_hidden=32, *, config):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.q_proj = ColumnParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            gather_output=False,
            skip_bias_add=False,
        )
        self.k_proj = ColumnParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            gather_output=False,
            skip_bias_add=False,
        )
        self.v_proj = ColumnParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            gather_output=False,
            skip_bias_add=False,
        )
        self.register_buffer("distances", cell_distances(window_size), persistent=False)
        self.bias_in = nn.Linear(2, bias_hidden)
        self.bias_out = nn.Linear(bias_hidden, num_heads)
        self.proj = RowParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            input_is_parallel=False,
            skip_bias_add=False,
        )

    def position_bias(self):
        """(H, N, N)."""
        return self.bias_out(F.relu(self.bias_in(self.distances))).permute(2, 0, 1)

    def forward(self, x, blocked=None):
        batch, windows, cells, _ = x.shape
        q, _ = self.q_proj(x)
        k, _ = self.k_proj(x)
        v, _ = self.v_proj(x)
        shape = (batch, windows, cells, self.num_heads, self.head_dim)
        q, k, v = q.view(shape).transpose(2, 3), k.view(shape).transpose(2, 3), v.view(shape).transpose(2, 3)
        bias = self.position_bias()
        if blocked is not None:
            bias = bias.masked_fill(blocked[:, None], float("-inf"))
        x = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x.transpose(2, 3).reshape(batch, windows, cells, -1)
        x, _ = self.proj(x)
        return x
