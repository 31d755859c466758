from torch import nn

from .layers import FeedForward


class Block(nn.Module):
    def __init__(self, dim, config, drop=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mlp = FeedForward(dim, config)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        out = self.mlp(self.norm(x))
        return x + self.drop(out)  # [parallel-linear-tuple-used]
