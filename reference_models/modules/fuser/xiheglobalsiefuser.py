"""The global half of a Xihe block.

# B batch, L = Y * X tokens (latitude, longitude), G groups, C channel
"""

from torch import nn

from ..attention.oneattention import OneAttention
from ..mlp.onemlp import OneMlp


class XiheGlobalSIEFuser(nn.Module):
    """Feature grouping, group propagation, feature ungrouping: far places meet at the cost of L * G, not L * L.

    Source: Wang et al. 2024 (XiHe, arXiv:2402.02995), global SIE block.

    Args:
        dim: channels C.
        num_heads: attention heads of grouping and ungrouping.
        num_groups: G.
        mlp_ratio, drop, attn_drop: see XiheMlp and XiheFeatureGroupAttention.

    Input: {"x": (B, L, C), "mask": (Y, X) bool, True for ocean, or None}, a dict or an object; the mask may be missing.
    Output: (B, L, C).
    """

    def __init__(self, dim, num_heads, num_groups, mlp_ratio=4.0, drop=0.0, attn_drop=0.0):
        super().__init__()
        self.feature_grouping = OneAttention(
            style="XiheFeatureGroupAttention",
            dim=dim,
            num_groups=num_groups,
            num_heads=num_heads,
            attn_drop=attn_drop,
            proj_drop=drop,
        )
        self.group_propagation = OneMlp(
            style="XiheMlp", dim=dim, num_groups=num_groups, mlp_ratio=mlp_ratio, drop=drop
        )
        self.feature_ungrouping = OneAttention(
            style="XiheFeatureUngroupAttention",
            dim=dim,
            num_heads=num_heads,
            attn_drop=attn_drop,
            proj_drop=drop,
        )

    def forward(self, obj):
        if isinstance(obj, dict):
            x, mask = obj["x"], obj.get("mask")
        else:
            x, mask = obj.x, getattr(obj, "mask", None)
        obj = {"x": x, "mask": mask}
        groups = self.group_propagation(self.feature_grouping(obj))
        return self.feature_ungrouping({"x": groups, "y": x})
