"""A Xihe block: local parts, then global ones.

# B batch, L = Y * X tokens (latitude, longitude), C channel
"""

from torch import nn

from .xiheglobalsiefuser import XiheGlobalSIEFuser
from .xihelocalsiefuser import XiheLocalSIEFuser


class XiheFuser(nn.Module):
    """The ocean-specific block of Xihe.

    Source: Wang et al. 2024 (XiHe, arXiv:2402.02995), ocean-specific transformer.

    Args:
        dim: channels C.
        input_resolution: cells (1, Y, X) of the token grid.
        num_local, num_global: local and global parts.
        num_heads: attention heads of all parts.
        num_groups: groups of the global parts.
        window_size: cells of a window (1, latitude, longitude).
        drop_path: stochastic-depth rate of each transformer block, num_local * depth_local numbers.
        depth_local: transformer blocks of a local part.
        mlp_ratio, drop, attn_drop: see XiheLocalTransformer.

    Input: {"x": (B, L, C), "mask": (Y, X) bool, True for ocean, or None}, a dict or an object; the mask may be missing.
    Output: (B, L, C).
    """

    def __init__(
        self,
        dim,
        input_resolution,
        num_local,
        num_global,
        num_heads,
        num_groups,
        window_size,
        drop_path,
        depth_local=2,
        mlp_ratio=4.0,
        drop=0.0,
        attn_drop=0.0,
    ):
        super().__init__()
        self.local_sie_blocks = nn.ModuleList(
            XiheLocalSIEFuser(
                dim=dim,
                input_resolution=input_resolution,
                depth=depth_local,
                num_heads=num_heads,
                window_size=window_size,
                drop_path=drop_path[index * depth_local : (index + 1) * depth_local],
                mlp_ratio=mlp_ratio,
                drop=drop,
                attn_drop=attn_drop,
            )
            for index in range(num_local)
        )
        self.global_sie_blocks = nn.ModuleList(
            XiheGlobalSIEFuser(
                dim=dim,
                num_heads=num_heads,
                num_groups=num_groups,
                mlp_ratio=mlp_ratio,
                drop=drop,
                attn_drop=attn_drop,
            )
            for _ in range(num_global)
        )

    def forward(self, obj):
        if isinstance(obj, dict):
            x, mask = obj["x"], obj.get("mask")
        else:
            x, mask = obj.x, getattr(obj, "mask", None)
        obj = {"x": x, "mask": mask}
        for local in self.local_sie_blocks:
            obj["x"] = local(obj)
        for global_part in self.global_sie_blocks:
            obj["x"] = global_part(obj)
        return obj["x"]
