"""A dict may lack the mask here, so an object may, too."""

from torch import nn


class FloeDistributedTransformer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, obj):
        if isinstance(obj, dict):
            x = obj["x"]
            mask = obj.get("mask")
        else:
            x = obj.x
            mask = obj.mask  # [fuser-mask-access-unsafe]
        x = self.norm(x)
        return x if mask is None else x * mask
