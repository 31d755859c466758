"""Halving the horizontal resolution.

# B batch, P pressure level, Y latitude, X longitude (cyclic), C channel
"""

import torch
from torch import nn

from ..padding import pad_grid


def neighbours_to_channels(x: torch.Tensor, input_resolution, output_resolution) -> torch.Tensor:
    """Stack 2 x 2 horizontal neighbours: (B, P * Y * X, C) -> (B, P * Y/2 * X/2, 4C); odd axes are padded."""
    levels, rows, columns = output_resolution
    x = x.view(x.shape[0], *input_resolution, x.shape[-1])
    x = pad_grid(x, (levels, 2 * rows, 2 * columns), dim=1)
    x = x.view(x.shape[0], levels, rows, 2, columns, 2, x.shape[-1]).permute(0, 1, 2, 4, 3, 5, 6)
    return x.reshape(x.shape[0], levels * rows * columns, -1)


class PanguDownSample(nn.Module):
    """Merge 2 x 2 horizontal neighbours into one token of twice the channels.

    Source: Bi et al. 2023 (Pangu-Weather), Methods, down-sampling, after Liu et al. 2021 (Swin), patch
    merging.

    Args:
        input_resolution, output_resolution: cells (P, Y, X) before and after; Y and X are halved, rounded up.
        in_dim: C.

    Input: (B, P * Y * X, C). Output: (B, P * Y/2 * X/2, 2C).
    """

    def __init__(self, input_resolution, output_resolution, in_dim: int):
        super().__init__()
        self.input_resolution = input_resolution
        self.output_resolution = output_resolution
        self.norm = nn.LayerNorm(4 * in_dim)
        self.linear = nn.Linear(4 * in_dim, 2 * in_dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = neighbours_to_channels(x, self.input_resolution, self.output_resolution)
        return self.linear(self.norm(x))
