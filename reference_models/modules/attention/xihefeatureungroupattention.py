"""Feature ungrouping of Xihe: what the groups know, handed back to the tokens.

# B batch, L = Y * X tokens of the grid (latitude, longitude), G groups, C channel
"""

import torch
from torch import nn

from .cross_attention import cross_attention
from .window_attention import check_heads


class XiheFeatureUngroupAttention(nn.Module):
    """Attention from all tokens to the groups; its result and the tokens side by side are mapped to C channels.

    Source: Wang et al. 2024 (XiHe, arXiv:2402.02995), global SIE block.

    Args:
        dim: channels C, a multiple of num_heads.
        num_heads: attention heads.
        attn_drop: dropout rate of the attention weights.
        proj_drop: dropout rate behind each projection.

    Input: {"x": groups (B, G, C), "y": tokens (B, L, C)}. Output: (B, L, C).
    """

    def __init__(self, dim: int, num_heads: int, attn_drop: float = 0.0, proj_drop: float = 0.0):
        super().__init__()
        check_heads(dim, num_heads)
        self.num_heads = num_heads
        self.attn_drop = attn_drop
        self.norm_x = nn.LayerNorm(dim)
        self.norm_g = nn.LayerNorm(dim)
        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.attn_proj = nn.Linear(dim, dim)
        self.concat_proj = nn.Linear(2 * dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, obj):
        groups, tokens = self.norm_g(obj["x"]), obj["y"]
        dropout = self.attn_drop if self.training else 0.0
        q, k, v = self.q_proj(self.norm_x(tokens)), self.k_proj(groups), self.v_proj(groups)
        x = cross_attention(q, k, v, self.num_heads, dropout)
        x = self.proj_drop(self.attn_proj(x))
        return self.proj_drop(self.concat_proj(torch.cat([x, tokens], dim=-1)))
