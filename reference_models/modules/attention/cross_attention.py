"""Attention from one set of tokens to another.

# B batch, Q queries, K keys, H heads, D channels of a head
"""

import torch
from torch.nn import functional as F

from .window_attention import check_heads


def heads_per_rank(dim: int, num_heads: int, tp_size: int) -> int:
    """Heads of a tensor-parallel rank.

    Raises:
        ValueError: the ranks cannot share the heads evenly, or the heads the channels.
    """
    check_heads(dim, num_heads)
    if num_heads % tp_size:
        raise ValueError(
            f"num_heads ({num_heads}) must be a multiple of the tensor-parallel size ({tp_size})"
        )
    return num_heads // tp_size


def cross_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    heads: int,
    dropout: float,
    seen: torch.Tensor | None = None,
) -> torch.Tensor:
    """softmax(q k^T / sqrt(D)) v; H may be the heads of this tensor-parallel rank.

    q: (B, Q, H * D); k, v: (B, K, H * D); seen: (K,) bool, False for keys that no query may see. Returns q's shape.
    """
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))  # B, H, Q or K, D
    if seen is not None:
        seen = seen.view(1, 1, 1, -1)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, dropout_p=dropout)
    return out.transpose(1, 2).flatten(2)
