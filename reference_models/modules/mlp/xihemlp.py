"""Group propagation of Xihe: information moves between the groups.

# B batch, G groups, C channel
"""

import torch
from torch import nn

from .pangumlp import PanguMlp


class XiheMlp(nn.Module):
    """One MLP across the groups, one across the channels, each with a residual and LayerNorm first.

    Source: Wang et al. 2024 (XiHe, arXiv:2402.02995), global SIE block, after Tolstikhin et al. 2021 (MLP-Mixer).

    Args:
        dim: C.
        num_groups: G.
        mlp_ratio: hidden width over G and over C.
        drop: dropout rate after each Linear.

    Input and output: (B, G, C).
    """

    def __init__(self, dim: int, num_groups: int, mlp_ratio: float = 4.0, drop: float = 0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.mlp_token = PanguMlp(num_groups, int(num_groups * mlp_ratio), drop)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp_channel = PanguMlp(dim, int(dim * mlp_ratio), drop)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.mlp_token(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.mlp_channel(self.norm2(x))
