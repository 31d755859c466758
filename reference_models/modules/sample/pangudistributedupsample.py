"""Doubling the horizontal resolution, split over tensor-parallel ranks.

# B batch, P pressure level, Y latitude, X longitude (cyclic), C channel
"""

import torch
from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn

from .panguupsample import channels_to_neighbours


class PanguDistributedUpSample(nn.Module):
    """PanguUpSample with the input channels of both linear layers split.

    The LayerNorm between them needs all channels, so each is a Row layer that splits its input itself.

    Args:
        input_resolution, output_resolution, in_dim, out_dim: see PanguUpSample; in_dim and out_dim are
            multiples of the tensor-parallel size.
        config: Megatron's TransformerConfig.

    Input: (B, P * Y/2 * X/2, in_dim). Output: (B, P * Y * X, out_dim). Both the same on all tensor-parallel
    ranks.
    """

    def __init__(self, input_resolution, output_resolution, in_dim: int, out_dim: int, *, config):
        super().__init__()
        self.input_resolution = input_resolution
        self.output_resolution = output_resolution
        self.linear1 = RowParallelLinear(
            in_dim,
            4 * out_dim,
            config=config,
            init_method=config.init_method,
            bias=False,
            input_is_parallel=False,
            skip_bias_add=False,
        )
        self.norm = nn.LayerNorm(out_dim)
        self.linear2 = RowParallelLinear(
            out_dim,
            out_dim,
            config=config,
            init_method=config.init_method,
            bias=False,
            input_is_parallel=False,
            skip_bias_add=False,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, _ = self.linear1(x)
        x = channels_to_neighbours(x, self.input_resolution, self.output_resolution)
        x, _ = self.linear2(self.norm(x))
        return x
