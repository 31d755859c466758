from torch import nn


class IceBlock(nn.Module):
    def forward(self, obj):
        mask = obj.get("mask")
        return obj["x"] if mask is None else obj["x"] * mask


class IceFuser(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.ModuleList(IceBlock() for _ in range(depth))
        self.last = IceBlock()

    def forward(self, obj):
        x = obj["x"]
        mask = obj.get("mask")
        for blk in self.blocks:
            x = blk(obj)
            obj["x"] = x
        return self.last({"x": x, "mask": mask})


class IceDistributedFuser(nn.Module):
    def __init__(self, depth, config=None):
        super().__init__()
        self.blocks = nn.ModuleList(IceBlock() for _ in range(depth))
        self.last = IceBlock()

    def forward(self, obj):
        x = obj["x"]
        mask = obj.get("mask")
        for blk in self.blocks:
            x = blk({"x": x})  # [submodule-not-given-dict]
        return self.last({"x": x, "mask": mask})


class SnowFuser(nn.Module):
    """The original gives its block no mask either."""

    def __init__(self):
        super().__init__()
        self.block = IceBlock()

    def forward(self, obj):
        mask = obj.get("mask")
        x = self.block({"x": obj["x"]})
        return x if mask is None else x * mask


class SnowDistributedFuser(nn.Module):
    def __init__(self, config=None):
        super().__init__()
        self.block = IceBlock()

    def forward(self, obj):
        mask = obj.get("mask")
        x = self.block({"x": obj["x"]})
        return x if mask is None else x * mask
