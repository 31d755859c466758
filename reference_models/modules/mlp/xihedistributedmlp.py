"""Group propagation of Xihe, split over tensor-parallel ranks.

# B batch, G groups, C channel
"""

import torch
from torch import nn

from .pangudistributedmlp import PanguDistributedMlp


class XiheDistributedMlp(nn.Module):
    """XiheMlp with the hidden channels of both MLPs split.

    Args:
        dim, num_groups, mlp_ratio, drop: see XiheMlp. The hidden widths are multiples of the tensor-parallel size.
        config: Megatron's TransformerConfig.

    Input and output: (B, G, C), the same on all tensor-parallel ranks.
    """

    def __init__(self, dim: int, num_groups: int, mlp_ratio: float = 4.0, drop: float = 0.0, *, config):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.mlp_token = PanguDistributedMlp(num_groups, int(num_groups * mlp_ratio), drop, config=config)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp_channel = PanguDistributedMlp(dim, int(dim * mlp_ratio), drop, config=config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.mlp_token(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.mlp_channel(self.norm2(x))
