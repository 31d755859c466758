from torch import nn


def as_dict(obj):
    if isinstance(obj, dict):
        return obj
    return {"x": obj.x, "mask": getattr(obj, "mask", None)}


class IceDistributedFuser(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, obj):
        obj = as_dict(obj)
        for block in self.blocks:
            obj["x"] = block(obj)
        return obj["x"]
