"""One transformer block of Xihe's local part, split over tensor-parallel ranks.

# B batch, L = Y * X tokens (latitude, longitude), C channel
"""

from torch import nn

from ..attention.oneattention import OneAttention
from ..attention.windows import WindowGrid
from ..drop_path import DropPath
from ..mlp.onemlp import OneMlp


class XiheDistributedLocalTransformer(nn.Module):
    """XiheLocalTransformer with heads and hidden channels split over the tensor-parallel ranks.

    LayerNorms are on every rank: Column layers add up the gradients that reach them.

    Args:
        dim, input_resolution, num_heads, window_size, shift_size, mlp_ratio, drop, attn_drop, drop_path: see
            XiheLocalTransformer. num_heads counts the heads of all ranks.
        config: Megatron's TransformerConfig.

    Input: {"x": (B, L, C), "mask": (Y, X) bool, True for ocean, or None}. Output: (B, L, C). Both the same on all
    tensor-parallel ranks.
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
        *,
        config,
    ):
        super().__init__()
        grid = WindowGrid(input_resolution, window_size, shift_size)
        self.norm1 = nn.LayerNorm(dim)
        self.attn = OneAttention(
            style="EarthDistributedAttention3D",
            dim=dim,
            grid=grid,
            num_heads=num_heads,
            attn_drop=attn_drop,
            proj_drop=drop,
            config=config,
        )
        self.drop_path = DropPath(drop_path)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = OneMlp(
            style="PanguDistributedMlp", dim=dim, hidden_dim=int(dim * mlp_ratio), drop=drop, config=config
        )

    def forward(self, obj):
        x, mask = obj["x"], obj.get("mask")
        x = x + self.drop_path(self.attn(self.norm1(x), mask))
        return x + self.drop_path(self.mlp(self.norm2(x)))
