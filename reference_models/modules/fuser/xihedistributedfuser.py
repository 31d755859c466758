"""A Xihe block, split over tensor-parallel ranks.

# B batch, L = Y * X tokens (latitude, longitude), C channel
"""

from torch import nn

from .xihedistributedglobalsiefuser import XiheDistributedGlobalSIEFuser
from .xihedistributedlocalsiefuser import XiheDistributedLocalSIEFuser


class XiheDistributedFuser(nn.Module):
    """``num_local`` local parts of a XiheFuser, from part ``first_local`` on, and ``num_global`` global ones.

    Two pipeline stages can share one block of the plain model. Parts are named by their index in that block, so that
    parameter names are the plain model's.

    Args:
        dim, input_resolution, num_local, num_global, num_heads, num_groups, window_size, drop_path, depth_local,
            mlp_ratio, drop, attn_drop: see XiheFuser. num_heads counts the heads of all ranks, a multiple of the
            tensor-parallel size.
        first_local: index of the first local part in the plain model's block.
        config: Megatron's TransformerConfig.

    Input: {"x": (B, L, C), "mask": (Y, X) bool, True for ocean, or None}, a dict or an object; the mask may be missing.
    Output: (B, L, C). Both the same on all tensor-parallel ranks.
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
        first_local=0,
        *,
        config,
    ):
        super().__init__()
        if config.sequence_parallel:
            raise ValueError(
                "windows need all tokens of the grid on each rank: leave --sequence-parallel out"
            )
        self.local_sie_blocks = nn.ModuleDict(
            {
                str(first_local + index): XiheDistributedLocalSIEFuser(
                    dim=dim,
                    input_resolution=input_resolution,
                    depth=depth_local,
                    num_heads=num_heads,
                    window_size=window_size,
                    drop_path=drop_path[index * depth_local : (index + 1) * depth_local],
                    mlp_ratio=mlp_ratio,
                    drop=drop,
                    attn_drop=attn_drop,
                    config=config,
                )
                for index in range(num_local)
            }
        )
        self.global_sie_blocks = nn.ModuleList(
            XiheDistributedGlobalSIEFuser(
                dim=dim,
                num_heads=num_heads,
                num_groups=num_groups,
                mlp_ratio=mlp_ratio,
                drop=drop,
                attn_drop=attn_drop,
                config=config,
            )
            for _ in range(num_global)
        )

    def forward(self, obj):
        if isinstance(obj, dict):
            x, mask = obj["x"], obj.get("mask")
        else:
            x, mask = obj.x, getattr(obj, "mask", None)
        obj = {"x": x, "mask": mask}
        for local in self.local_sie_blocks.values():
            obj["x"] = local(obj)
        for global_part in self.global_sie_blocks:
            obj["x"] = global_part(obj)
        return obj["x"]
