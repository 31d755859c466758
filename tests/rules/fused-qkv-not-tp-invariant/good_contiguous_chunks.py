"""nanotron cuts each of the named parts of the weight by itself."""

from nanotron.parallel.tensor_parallel.nn import TensorParallelColumnLinear
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, num_heads, tp_pg):
        super().__init__()
        self.heads, self.head_dim = num_heads // tp_pg.size(), dim // num_heads
        self.qkv_proj = TensorParallelColumnLinear(
            dim, 3 * dim, pg=tp_pg, bias=False, contiguous_chunks=(dim, dim, dim)
        )

    def forward(self, x):
        tokens, batch, _ = x.shape
        q, k, v = self.qkv_proj(x).view(tokens, batch, 3, self.heads, self.head_dim).permute(2, 1, 0, 3, 4)
        return q, k, v
