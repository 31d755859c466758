from torch import nn


class IceDistributedFuser(nn.Module):
    def __init__(self, blocks, last):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.last = last

    def forward(self, obj):
        if isinstance(obj, dict):
            x = obj["x"]
        else:
            x = obj.x  # [fuser-input-not-normalized]
        x = self.last(obj)
        obj = {"x": x, "mask": None}
        return obj["x"]
