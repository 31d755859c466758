"""Feature ungrouping of Xihe, split by heads over tensor-parallel ranks.

# B batch, L = Y * X tokens of the grid (latitude, longitude), G groups, C channel
"""

from contextlib import nullcontext

import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear, get_cuda_rng_tracker
from torch import nn

from .cross_attention import cross_attention, heads_per_rank


class XiheDistributedFeatureUngroupAttention(nn.Module):
    """XiheFeatureUngroupAttention where each tensor-parallel rank computes num_heads / tp heads.

    What attn_proj returns is full, and so is what it is joined with: concat_proj is told to split its input itself.

    Args:
        dim, num_heads, attn_drop, proj_drop: see XiheFeatureUngroupAttention. num_heads counts the heads of all ranks,
            a multiple of the tensor-parallel size.
        config: Megatron's TransformerConfig.

    Input: {"x": groups (B, G, C), "y": tokens (B, L, C)}. Output: (B, L, C). All the same on all tensor-parallel ranks.
    """

    def __init__(self, dim: int, num_heads: int, attn_drop: float = 0.0, proj_drop: float = 0.0, *, config):
        super().__init__()
        self.num_heads_per_rank = heads_per_rank(dim, num_heads, config.tensor_model_parallel_size)
        self.attn_drop = attn_drop
        self.norm_x = nn.LayerNorm(dim)
        self.norm_g = nn.LayerNorm(dim)
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
        self.attn_proj = RowParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            input_is_parallel=True,
            skip_bias_add=False,
        )
        self.concat_proj = RowParallelLinear(
            2 * dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            input_is_parallel=False,
            skip_bias_add=False,
        )
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, obj):
        groups, tokens = self.norm_g(obj["x"]), obj["y"]
        q, _ = self.q_proj(self.norm_x(tokens))
        k, _ = self.k_proj(groups)
        v, _ = self.v_proj(groups)
        # Each rank drops weights of its own heads; the output, the same on all ranks, is dropped alike below.
        dropout = self.attn_drop if self.training else 0.0
        with get_cuda_rng_tracker().fork() if dropout else nullcontext():
            x = cross_attention(q, k, v, self.num_heads_per_rank, dropout)
        x, _ = self.attn_proj(x)
        x = self.proj_drop(x)
        x, _ = self.concat_proj(torch.cat([x, tokens], dim=-1))
        return self.proj_drop(x)
