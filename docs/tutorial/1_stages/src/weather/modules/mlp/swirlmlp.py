"""Feed-forward part of a block."""

from torch import nn


class SwirlMlp(nn.Module):
    """Two linear layers. Input and output: (..., C)."""

    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden_dim)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden_dim, dim)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))
