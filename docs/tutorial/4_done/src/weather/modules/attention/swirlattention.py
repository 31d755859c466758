"""Attention inside windows, with a position bias that a small net computes.

# B batch, W windows, N cells of a window, C channel, H heads
"""

import torch
from torch import nn
from torch.nn import functional as F


def cell_distances(window):
    """(N, N, 2): how far two cells of a window lie from each other, each axis between -1 and 1."""
    rows, columns = torch.arange(window[0]), torch.arange(window[1])
    cells = torch.cartesian_prod(rows, columns).float() / torch.tensor(window).float()
    return cells[:, None] - cells[None, :]


class SwirlAttention(nn.Module):
    """Multi-head attention. Input and output: (B, W, N, C); blocked: (W, N, N) or None."""

    def __init__(self, dim, num_heads, window_size, bias_hidden=32):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.register_buffer("distances", cell_distances(window_size), persistent=False)
        self.bias_in = nn.Linear(2, bias_hidden)
        self.bias_out = nn.Linear(bias_hidden, num_heads)
        self.proj = nn.Linear(dim, dim)

    def position_bias(self):
        """(H, N, N)."""
        return self.bias_out(F.relu(self.bias_in(self.distances))).permute(2, 0, 1)

    def forward(self, x, blocked=None):
        batch, windows, cells, _ = x.shape
        shape = (batch, windows, cells, self.num_heads, self.head_dim)
        q = self.q_proj(x).view(shape).transpose(2, 3)
        k = self.k_proj(x).view(shape).transpose(2, 3)
        v = self.v_proj(x).view(shape).transpose(2, 3)
        bias = self.position_bias()
        if blocked is not None:
            bias = bias.masked_fill(blocked[:, None], float("-inf"))
        x = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x.transpose(2, 3).reshape(batch, windows, cells, -1)
        return self.proj(x)
