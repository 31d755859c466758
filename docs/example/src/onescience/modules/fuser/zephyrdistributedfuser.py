"""A stack of blocks: attention, then the feed-forward layer, then the block's input is mixed in again."""

import torch
from torch import nn

from onescience.distributed.megatron.core.tensor_parallel.layers import RowParallelLinear
from onescience.modules.attention.oneattention import OneAttention
from onescience.modules.mlp.onemlp import OneMlp


class ZephyrBlock(nn.Module):
    """One block."""

    def __init__(self, dim: int, num_heads: int, config):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = OneAttention(style="ZephyrDistributedAttention", dim=dim, num_heads=num_heads)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = OneMlp(style="ZephyrDistributedMlp", dim=dim, mlp_ratio=4.0, config=config)
        self.mix = RowParallelLinear(
            2 * dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        y = x + self.attn(self.norm1(x))
        y = y + self.mlp(self.norm2(y))
        out, _ = self.mix(torch.cat([x, y], dim=-1))
        return out


class ZephyrDistributedFuser(nn.Module):
    """`depth` blocks."""

    def __init__(self, dim: int, depth: int, num_heads: int, config=None, **kwargs):
        super().__init__()
        if config is None:
            raise ValueError("ZephyrDistributedFuser needs the Megatron config")
        self.blocks = nn.ModuleList(ZephyrBlock(dim, num_heads, config) for _ in range(depth))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
