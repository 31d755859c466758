"""Feature grouping of Xihe: the ocean tokens gathered into a few groups.

# B batch, L = Y * X tokens of the grid (latitude, longitude), G groups, C channel
"""

import torch
from torch import nn

from .cross_attention import cross_attention
from .window_attention import check_heads


class XiheFeatureGroupAttention(nn.Module):
    """Attention from learned group vectors to all tokens of the ocean; land is not seen.

    Source: Wang et al. 2024 (XiHe, arXiv:2402.02995), global SIE block, after Xu et al. 2022 (GroupViT).

    Args:
        dim: channels C, a multiple of num_heads.
        num_groups: G.
        num_heads: attention heads.
        attn_drop: dropout rate of the attention weights.
        proj_drop: dropout rate of the output.

    Input: {"x": (B, L, C), "mask": (Y, X) bool, True for ocean, or None}. Output: (B, G, C).
    """

    def __init__(
        self, dim: int, num_groups: int, num_heads: int, attn_drop: float = 0.0, proj_drop: float = 0.0
    ):
        super().__init__()
        check_heads(dim, num_heads)
        self.num_heads = num_heads
        self.attn_drop = attn_drop
        self.group_vectors = nn.Parameter(torch.randn(1, num_groups, dim))
        self.norm = nn.LayerNorm(dim)
        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, obj):
        x, mask = obj["x"], obj.get("mask")
        tokens = self.norm(x)
        groups = self.group_vectors.expand(x.shape[0], -1, -1)
        ocean = None if mask is None else mask.flatten()
        dropout = self.attn_drop if self.training else 0.0
        q, k, v = self.q_proj(groups), self.k_proj(tokens), self.v_proj(tokens)
        groups = cross_attention(q, k, v, self.num_heads, dropout, ocean)
        return self.proj_drop(self.proj(groups))
