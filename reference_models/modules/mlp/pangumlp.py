"""Feed-forward part of a transformer block."""

import torch
from torch import nn


class PanguMlp(nn.Module):
    """Linear, GELU, Linear on the last axis.

    Args:
        dim: channels C of input and output.
        hidden_dim: channels in between.
        drop: dropout rate after each Linear.

    Input and output: (..., C).
    """

    def __init__(self, dim: int, hidden_dim: int, drop: float = 0.0):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden_dim)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden_dim, dim)
        self.drop = nn.Dropout(drop)

    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        """(..., C) -> (..., hidden_dim)."""
        return self.act(self.fc1(x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.drop(self.hidden(x))
        return self.drop(self.fc2(x))
