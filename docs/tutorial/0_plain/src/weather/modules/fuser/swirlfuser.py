"""A stack of window blocks at one resolution.

# B batch, Y latitude, X longitude, C channel
"""

from torch import nn

from ..attention.oneattention import OneAttention
from ..mlp.onemlp import OneMlp
from ..windows import blocked_pairs, cut_windows, join_windows


class SwirlBlock(nn.Module):
    """Attention inside (shifted) windows, then a feed-forward net. Input and output: (B, Y, X, C)."""

    def __init__(self, dim, input_resolution, num_heads, window_size, shift_size):
        super().__init__()
        self.resolution, self.window, self.shift = input_resolution, window_size, shift_size
        blocked = blocked_pairs(input_resolution, window_size, shift_size) if any(shift_size) else None
        self.register_buffer("blocked", blocked, persistent=False)
        self.norm1 = nn.LayerNorm(dim)
        self.attn = OneAttention(
            style="SwirlAttention", dim=dim, num_heads=num_heads, window_size=window_size
        )
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = OneMlp(style="SwirlMlp", dim=dim, hidden_dim=4 * dim)

    def forward(self, x):
        windows = cut_windows(self.norm1(x), self.window, self.shift)
        windows = self.attn(windows, self.blocked)
        x = x + join_windows(windows, self.resolution, self.window, self.shift)
        return x + self.mlp(self.norm2(x))


class SwirlFuser(nn.Module):
    """``depth`` blocks; every second one is shifted by half a window. Input and output: (B, Y, X, C)."""

    def __init__(self, dim, input_resolution, depth, num_heads, window_size):
        super().__init__()
        half = (window_size[0] // 2, window_size[1] // 2)
        self.blocks = nn.ModuleList(
            [
                SwirlBlock(dim, input_resolution, num_heads, window_size, half if index % 2 else (0, 0))
                for index in range(depth)
            ]
        )

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
