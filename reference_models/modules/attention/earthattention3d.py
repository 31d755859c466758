"""Earth-specific window attention of Pangu-Weather.

# B batch, L = P * Y * X tokens of the grid (pressure level, latitude, longitude), C channel
"""

import torch
from torch import nn

from .window_attention import (
    bias_table_shape,
    check_heads,
    earth_position_bias,
    project_together,
    window_attention,
)
from .windows import WindowGrid


class EarthAttention3D(nn.Module):
    """Multi-head attention inside 3-D windows, with a position bias per pressure level and latitude.

    Source: Bi et al. 2023 (Pangu-Weather), Methods, 3D Earth-specific transformer.

    Args:
        dim: channels C, a multiple of num_heads.
        grid: the windows; its padding and shift decide which pairs of tokens are blocked.
        num_heads: attention heads.
        attn_drop: dropout rate of the attention weights.
        proj_drop: dropout rate of the output.

    Input and output: (B, L, C). ocean: (Y, X) bool, for one level; cells of ocean and land then do not see each other.
    """

    def __init__(
        self, dim: int, grid: WindowGrid, num_heads: int, attn_drop: float = 0.0, proj_drop: float = 0.0
    ):
        super().__init__()
        check_heads(dim, num_heads)
        self.grid = grid
        self.attn_drop = attn_drop

        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.earth_position_bias_table = nn.Parameter(
            torch.empty(bias_table_shape(num_heads, grid.window_types, grid.window))
        )
        nn.init.trunc_normal_(self.earth_position_bias_table, std=0.02)
        self.register_buffer("blocked", grid.blocked_pairs(), persistent=False)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x: torch.Tensor, ocean: torch.Tensor | None = None) -> torch.Tensor:
        qkv = project_together(x, (self.q_proj, self.k_proj, self.v_proj))
        bias = earth_position_bias(self.earth_position_bias_table, self.blocked)
        dropout = self.attn_drop if self.training else 0.0
        x = window_attention(qkv, bias, self.grid, dropout, ocean)
        return self.proj_drop(self.proj(x))
