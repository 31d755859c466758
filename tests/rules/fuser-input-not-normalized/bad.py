from torch import nn


class IceDistributedFuser(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, obj):
        if isinstance(obj, dict):
            x = obj["x"]
        else:
            x = obj.x  # [fuser-input-not-normalized]
        for block in self.blocks:
            x = block(obj)
            obj["x"] = x
        return x


class IceDistributedObjectFuser(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, obj):  # [fuser-input-not-normalized]
        return self.block(obj.x)
