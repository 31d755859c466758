"""A stack of transformer blocks at one resolution.

# B batch, L = P * Y * X tokens (pressure level, latitude, longitude), C channel
"""

import torch
from torch import nn

from ..transformer.onetransformer import OneTransformer


class PanguFuser(nn.Module):
    """``depth`` blocks of Pangu-Weather; every second one has its windows shifted by half a window.

    Args:
        dim: channels C.
        input_resolution: cells (P, Y, X) of the token grid.
        depth: number of blocks.
        num_heads: attention heads.
        window_size: cells of a window (pressure, latitude, longitude).
        drop_path: stochastic-depth rate of each block, ``depth`` numbers.
        mlp_ratio, drop, attn_drop: see PanguTransformer.

    Input and output: (B, L, C). There is no mask to pass: blocked pairs follow from the grid.
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
    ):
        super().__init__()
        if len(drop_path) != depth:
            raise ValueError(
                f"drop_path must hold one rate per block: {depth} blocks, {len(drop_path)} rates"
            )
        half_window = tuple(side // 2 for side in window_size)
        self.blocks = nn.ModuleList(
            OneTransformer(
                style="PanguTransformer",
                dim=dim,
                input_resolution=input_resolution,
                num_heads=num_heads,
                window_size=window_size,
                shift_size=half_window if index % 2 else (0, 0, 0),
                mlp_ratio=mlp_ratio,
                drop=drop,
                attn_drop=attn_drop,
                drop_path=drop_path[index],
            )
            for index in range(depth)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x
