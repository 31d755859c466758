from torch import nn


class IceDistributedFuser(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, obj):
        if isinstance(obj, dict):
            x, mask = obj["x"], obj.get("mask")
        else:
            x, mask = obj.x, getattr(obj, "mask", None)
        obj = {"x": x, "mask": mask}
        for block in self.blocks:
            obj["x"] = block(obj)
        return obj["x"]
