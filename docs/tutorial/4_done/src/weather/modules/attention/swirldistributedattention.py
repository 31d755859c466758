"""Attention inside windows, split by heads over tensor-parallel ranks.

# B batch, W windows, N cells of a window, C channel, H heads of all ranks, h heads of this rank
"""

from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn
from torch.nn import functional as F

from .swirlattention import cell_distances


class SwirlDistributedAttention(nn.Module):
    """SwirlAttention where each rank computes h = H / tp heads.

    Input and output: (B, W, N, C), the same on all ranks; blocked: (W, N, N) or None.
    """

    def __init__(self, dim, num_heads, window_size, bias_hidden=32, *, config):
        super().__init__()
        tp_size = config.tensor_model_parallel_size
        if num_heads % tp_size:
            raise ValueError(
                f"num_heads ({num_heads}) must be a multiple of the tensor-parallel size ({tp_size})"
            )
        self.num_heads_per_rank = num_heads // tp_size
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
        # Two numbers in, the same on each rank: pylint: disable-next=plain-linear-in-distributed
        self.bias_in = nn.Linear(2, bias_hidden)
        self.bias_out = ColumnParallelLinear(
            bias_hidden,
            num_heads,
            config=config,
            init_method=config.init_method,
            bias=True,
            gather_output=False,
            skip_bias_add=False,
        )
        self.proj = RowParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            input_is_parallel=True,
            skip_bias_add=False,
        )

    def position_bias(self):
        """(h, N, N): a Column layer gives each rank its heads, and its backward adds up what they say of bias_in."""
        bias, _ = self.bias_out(F.relu(self.bias_in(self.distances)))
        return bias.permute(2, 0, 1)

    def forward(self, x, blocked=None):
        batch, windows, cells, channels = x.shape
        x = x.reshape(batch * windows, cells, channels)  # parallel layers take three axes
        q, _ = self.q_proj(x)
        k, _ = self.k_proj(x)
        v, _ = self.v_proj(x)
        shape = (batch, windows, cells, self.num_heads_per_rank, self.head_dim)
        q, k, v = q.view(shape).transpose(2, 3), k.view(shape).transpose(2, 3), v.view(shape).transpose(2, 3)
        bias = self.position_bias()
        if blocked is not None:
            bias = bias.masked_fill(blocked[:, None], float("-inf"))
        x = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x.transpose(2, 3).reshape(batch * windows, cells, -1)
        x, _ = self.proj(x)
        return x.view(batch, windows, cells, channels)
