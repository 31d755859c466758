"""Halving the horizontal resolution, split over tensor-parallel ranks.

# B batch, P pressure level, Y latitude, X longitude (cyclic), C channel
"""

import torch
from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn

from .pangudownsample import neighbours_to_channels


class PanguDistributedDownSample(nn.Module):
    """PanguDownSample with the input channels of its linear layer split.

    LayerNorm needs and gives all channels, so the Row layer is told to split its input itself.

    Args:
        input_resolution, output_resolution, in_dim: see PanguDownSample; 4 * in_dim is a multiple of the
            tensor-parallel size.
        config: Megatron's TransformerConfig.

    Input: (B, P * Y * X, C). Output: (B, P * Y/2 * X/2, 2C). Both the same on all tensor-parallel ranks.
    """

    def __init__(self, input_resolution, output_resolution, in_dim: int, *, config):
        super().__init__()
        self.input_resolution = input_resolution
        self.output_resolution = output_resolution
        self.norm = nn.LayerNorm(4 * in_dim)
        self.linear = RowParallelLinear(
            4 * in_dim,
            2 * in_dim,
            config=config,
            init_method=config.init_method,
            bias=False,
            input_is_parallel=False,
            skip_bias_add=False,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = neighbours_to_channels(x, self.input_resolution, self.output_resolution)
        x, _ = self.linear(self.norm(x))
        return x
