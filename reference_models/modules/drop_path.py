"""Stochastic depth: a residual branch is left out at random."""

import torch
from torch import nn


class DropPath(nn.Module):
    """Drop the whole branch of a sample with probability ``rate``; scale the kept ones by 1 / (1 - rate).

    Source: Deep Networks with Stochastic Depth, Huang et al. 2016. The draw comes from the default generator,
    which Megatron seeds alike on all tensor-parallel ranks, so they drop the same samples.

    Input and output: (B, ...), any shape.
    """

    def __init__(self, rate: float = 0.0):
        super().__init__()
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"drop-path rate must be in [0, 1), got {rate}")
        self.rate = rate

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training or self.rate == 0.0:
            return x
        keep = 1.0 - self.rate
        kept = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
        return x * (kept / keep)

    def extra_repr(self) -> str:
        return f"rate={self.rate:.3f}"
