from torch import nn


class IceFuser(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, obj):
        if not isinstance(obj, dict):
            obj = {"x": obj.x, "mask": getattr(obj, "mask", None)}
        for block in self.blocks:
            obj["x"] = block(obj)
        return obj["x"]


class PanguFuser(nn.Module):
    """Tensor-only: it has no mask to carry."""

    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
