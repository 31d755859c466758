"""A stack of transformer blocks at one resolution, split over tensor-parallel ranks.

# B batch, L = P * Y * X tokens (pressure level, latitude, longitude), C channel
"""

import torch
from torch import nn

from ..transformer.onetransformer import OneTransformer


class PanguDistributedFuser(nn.Module):
    """``depth`` consecutive blocks of a PanguFuser, from block ``first_block`` on.

    Two pipeline stages can share one layer of the plain model. Blocks are named by their index in that layer,
    so that parameter names are the plain model's, and the index decides which blocks are shifted.

    Args:
        dim, input_resolution, depth, num_heads, window_size, drop_path, mlp_ratio, drop, attn_drop: see
            PanguFuser. num_heads counts the heads of all ranks, a multiple of the tensor-parallel size.
        first_block: index of the first block in the plain model's layer.
        config: Megatron's TransformerConfig.

    Input and output: (B, L, C), the same on all tensor-parallel ranks. There is no mask to pass: blocked
    pairs follow from the grid.
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
        first_block=0,
        *,
        config,
    ):
        super().__init__()
        if len(drop_path) != depth:
            raise ValueError(
                f"drop_path must hold one rate per block: {depth} blocks, {len(drop_path)} rates"
            )
        if config.sequence_parallel:
            raise ValueError(
                "windows need all tokens of the grid on each rank: leave --sequence-parallel out"
            )
        half_window = tuple(side // 2 for side in window_size)
        self.blocks = nn.ModuleDict(
            {
                str(index): OneTransformer(
                    style="PanguDistributedTransformer",
                    dim=dim,
                    input_resolution=input_resolution,
                    num_heads=num_heads,
                    window_size=window_size,
                    shift_size=half_window if index % 2 else (0, 0, 0),
                    mlp_ratio=mlp_ratio,
                    drop=drop,
                    attn_drop=attn_drop,
                    drop_path=drop_path[index - first_block],
                    config=config,
                )
                for index in range(first_block, first_block + depth)
            }
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks.values():
            x = block(x)
        return x
