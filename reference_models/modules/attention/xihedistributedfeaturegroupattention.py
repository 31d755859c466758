"""Feature grouping of Xihe, split by heads over tensor-parallel ranks.

# B batch, L = Y * X tokens of the grid (latitude, longitude), G groups, C channel
"""

from contextlib import nullcontext

import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear, get_cuda_rng_tracker
from torch import nn

from .cross_attention import cross_attention, heads_per_rank


class XiheDistributedFeatureGroupAttention(nn.Module):
    """XiheFeatureGroupAttention where each tensor-parallel rank computes num_heads / tp heads.

    The group vectors are on every rank: the Column layer adds up the gradients that reach them.

    Args:
        dim, num_groups, num_heads, attn_drop, proj_drop: see XiheFeatureGroupAttention. num_heads counts the heads of
            all ranks, a multiple of the tensor-parallel size.
        config: Megatron's TransformerConfig.

    Input: {"x": (B, L, C), "mask": (Y, X) bool, True for ocean, or None}. Output: (B, G, C). Both the same on all
    tensor-parallel ranks.
    """

    def __init__(
        self,
        dim: int,
        num_groups: int,
        num_heads: int,
        attn_drop: float = 0.0,
        proj_drop: float = 0.0,
        *,
        config,
    ):
        super().__init__()
        self.num_heads_per_rank = heads_per_rank(dim, num_heads, config.tensor_model_parallel_size)
        self.attn_drop = attn_drop
        self.group_vectors = nn.Parameter(torch.randn(1, num_groups, dim))
        self.norm = nn.LayerNorm(dim)
        self.q_proj = ColumnParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            gather_output=False,
            skip_bias_add=False,
        )
        self.k_proj = ColumnParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            gather_output=False,
            skip_bias_add=False,
        )
        self.v_proj = ColumnParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            gather_output=False,
            skip_bias_add=False,
        )
        self.proj = RowParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            input_is_parallel=True,
            skip_bias_add=False,
        )
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, obj):
        x, mask = obj["x"], obj.get("mask")
        tokens = self.norm(x)
        groups = self.group_vectors.expand(x.shape[0], -1, -1)
        ocean = None if mask is None else mask.flatten()
        q, _ = self.q_proj(groups)
        k, _ = self.k_proj(tokens)
        v, _ = self.v_proj(tokens)
        # Each rank drops weights of its own heads; the output, the same on all ranks, is dropped alike below.
        dropout = self.attn_drop if self.training else 0.0
        with get_cuda_rng_tracker().fork() if dropout else nullcontext():
            groups = cross_attention(q, k, v, self.num_heads_per_rank, dropout, ocean)
        groups, _ = self.proj(groups)
        return self.proj_drop(groups)
