from torch import nn


class FuxiDistributedFuser(nn.Module):
    """What the keywords hold is for the caller to know."""

    def __init__(self, dim, num_heads, **kwargs):
        super().__init__()
        self.heads = (num_heads, kwargs.get("num_heads_global", num_heads))

    def forward(self, x):
        return x
