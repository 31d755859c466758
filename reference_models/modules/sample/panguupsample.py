"""Doubling the horizontal resolution.

# B batch, P pressure level, Y latitude, X longitude (cyclic), C channel
"""

import torch
from torch import nn

from ..padding import crop_grid


def channels_to_neighbours(x: torch.Tensor, input_resolution, output_resolution) -> torch.Tensor:
    """Spread 4C channels over 2 x 2 horizontal neighbours: (B, P * Y/2 * X/2, 4C) -> (B, P * Y * X, C)."""
    levels, rows, columns = input_resolution
    x = x.view(x.shape[0], levels, rows, columns, 2, 2, -1).permute(0, 1, 2, 4, 3, 5, 6)
    x = x.reshape(x.shape[0], levels, 2 * rows, 2 * columns, -1)
    x = crop_grid(x, output_resolution, dim=1)
    return x.reshape(x.shape[0], -1, x.shape[-1])


class PanguUpSample(nn.Module):
    """Split a token into 2 x 2 horizontal neighbours; undoes the resolution change of PanguDownSample.

    Source: Bi et al. 2023 (Pangu-Weather), Methods, up-sampling.

    Args:
        input_resolution, output_resolution: cells (P, Y, X) before and after.
        in_dim, out_dim: channels before and after.

    Input: (B, P * Y/2 * X/2, in_dim). Output: (B, P * Y * X, out_dim).
    """

    def __init__(self, input_resolution, output_resolution, in_dim: int, out_dim: int):
        super().__init__()
        self.input_resolution = input_resolution
        self.output_resolution = output_resolution
        self.linear1 = nn.Linear(in_dim, 4 * out_dim, bias=False)
        self.norm = nn.LayerNorm(out_dim)
        self.linear2 = nn.Linear(out_dim, out_dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = channels_to_neighbours(self.linear1(x), self.input_resolution, self.output_resolution)
        return self.linear2(self.norm(x))
