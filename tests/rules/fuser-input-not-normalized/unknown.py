from torch import nn

from somewhere import normalized


class IceFuser(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, obj):
        if hasattr(obj, "x"):
            obj = normalized(obj)
        x = obj["x"]
        for block in self.blocks:
            obj.update(x=block(obj))
        return x


class Attention(nn.Module):
    """Not a fuser: it may take what its caller has."""

    def forward(self, obj):
        return obj["x"]
