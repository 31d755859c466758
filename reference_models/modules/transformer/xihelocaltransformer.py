"""One transformer block of Xihe's local part.

# B batch, L = Y * X tokens (latitude, longitude), C channel
"""

from torch import nn

from ..attention.oneattention import OneAttention
from ..attention.windows import WindowGrid
from ..drop_path import DropPath
from ..mlp.onemlp import OneMlp


class XiheLocalTransformer(nn.Module):
    """Window attention in which ocean and land do not see each other, and MLP, each with a residual, LayerNorm first.

    Source: Wang et al. 2024 (XiHe, arXiv:2402.02995), local SIE block. Land has tokens of its own there, too; here they
    see land alone: the block carries nothing of it to the ocean, and no token is left without a key.

    Args:
        dim: channels C.
        input_resolution: cells (1, Y, X) of the token grid.
        num_heads: attention heads.
        window_size: cells of a window (1, latitude, longitude).
        shift_size: cells by which the windows are shifted; zeros for a block without shift.
        mlp_ratio: hidden channels of the MLP over C.
        drop, attn_drop: dropout rates of features and of attention weights.
        drop_path: stochastic-depth rate of this block.

    Input: {"x": (B, L, C), "mask": (Y, X) bool, True for ocean, or None}. Output: (B, L, C).
    """

    def __init__(
        self,
        dim,
        input_resolution,
        num_heads,
        window_size,
        shift_size=(0, 0, 0),
        mlp_ratio=4.0,
        drop=0.0,
        attn_drop=0.0,
        drop_path=0.0,
    ):
        super().__init__()
        grid = WindowGrid(input_resolution, window_size, shift_size)
        self.norm1 = nn.LayerNorm(dim)
        self.attn = OneAttention(
            style="EarthAttention3D",
            dim=dim,
            grid=grid,
            num_heads=num_heads,
            attn_drop=attn_drop,
            proj_drop=drop,
        )
        self.drop_path = DropPath(drop_path)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = OneMlp(style="PanguMlp", dim=dim, hidden_dim=int(dim * mlp_ratio), drop=drop)

    def forward(self, obj):
        x, mask = obj["x"], obj.get("mask")
        x = x + self.drop_path(self.attn(self.norm1(x), mask))
        return x + self.drop_path(self.mlp(self.norm2(x)))
