"""The global half of a Xihe block, split over tensor-parallel ranks.

# B batch, L = Y * X tokens (latitude, longitude), G groups, C channel
"""

from torch import nn

from ..attention.oneattention import OneAttention
from ..mlp.onemlp import OneMlp


class XiheDistributedGlobalSIEFuser(nn.Module):
    """XiheGlobalSIEFuser with heads and hidden channels split over the tensor-parallel ranks.

    Args:
        dim, num_heads, num_groups, mlp_ratio, drop, attn_drop: see XiheGlobalSIEFuser. num_heads counts the heads of
            all ranks.
        config: Megatron's TransformerConfig.

    Input: {"x": (B, L, C), "mask": (Y, X) bool, True for ocean, or None}, a dict or an object; the mask may be missing.
    Output: (B, L, C). Both the same on all tensor-parallel ranks.
    """

    def __init__(self, dim, num_heads, num_groups, mlp_ratio=4.0, drop=0.0, attn_drop=0.0, *, config):
        super().__init__()
        self.feature_grouping = OneAttention(
            style="XiheDistributedFeatureGroupAttention",
            dim=dim,
            num_groups=num_groups,
            num_heads=num_heads,
            attn_drop=attn_drop,
            proj_drop=drop,
            config=config,
        )
        self.group_propagation = OneMlp(
            style="XiheDistributedMlp",
            dim=dim,
            num_groups=num_groups,
            mlp_ratio=mlp_ratio,
            drop=drop,
            config=config,
        )
        self.feature_ungrouping = OneAttention(
            style="XiheDistributedFeatureUngroupAttention",
            dim=dim,
            num_heads=num_heads,
            attn_drop=attn_drop,
            proj_drop=drop,
            config=config,
        )

    def forward(self, obj):
        if isinstance(obj, dict):
            x, mask = obj["x"], obj.get("mask")
        else:
            x, mask = obj.x, getattr(obj, "mask", None)
        obj = {"x": x, "mask": mask}
        groups = self.group_propagation(self.feature_grouping(obj))
        return self.feature_ungrouping({"x": groups, "y": x})
