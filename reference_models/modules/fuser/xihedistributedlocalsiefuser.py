"""The local half of a Xihe block, split over tensor-parallel ranks.

# B batch, L = Y * X tokens (latitude, longitude), C channel
"""

from torch import nn

from ..transformer.onetransformer import OneTransformer


class XiheDistributedLocalSIEFuser(nn.Module):
    """XiheLocalSIEFuser with heads and hidden channels split over the tensor-parallel ranks.

    Args:
        dim, input_resolution, depth, num_heads, window_size, drop_path, mlp_ratio, drop, attn_drop: see
            XiheLocalSIEFuser. num_heads counts the heads of all ranks.
        config: Megatron's TransformerConfig.

    Input: {"x": (B, L, C), "mask": (Y, X) bool, True for ocean, or None}, a dict or an object; the mask may be missing.
    Output: (B, L, C). Both the same on all tensor-parallel ranks.
    """

    def __init__(
        self,
        dim,
        input_resolution,
        depth,
        num_heads,
        window_size,
        drop_path,
        mlp_ratio=4.0,
        drop=0.0,
        attn_drop=0.0,
        *,
        config,
    ):
        super().__init__()
        if len(drop_path) != depth:
            raise ValueError(
                f"drop_path must hold one rate per block: {depth} blocks, {len(drop_path)} rates"
            )
        half_window = tuple(side // 2 for side in window_size)
        self.blocks = nn.ModuleList(
            OneTransformer(
                style="XiheDistributedLocalTransformer",
                dim=dim,
                input_resolution=input_resolution,
                num_heads=num_heads,
                window_size=window_size,
                shift_size=half_window if index % 2 else (0, 0, 0),
                mlp_ratio=mlp_ratio,
                drop=drop,
                attn_drop=attn_drop,
                drop_path=drop_path[index],
                config=config,
            )
            for index in range(depth)
        )

    def forward(self, obj):
        if isinstance(obj, dict):
            x, mask = obj["x"], obj.get("mask")
        else:
            x, mask = obj.x, getattr(obj, "mask", None)
        obj = {"x": x, "mask": mask}
        for block in self.blocks:
            obj["x"] = block(obj)
        return obj["x"]
