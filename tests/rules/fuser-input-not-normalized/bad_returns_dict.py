from torch import nn


class RainDistributedFuser(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = blocks

    def forward(self, obj):
        if isinstance(obj, dict):
            x = obj["x"]
            mask = obj.get("mask")
        else:
            x = obj.x
            mask = getattr(obj, "mask", None)
            obj = {"x": x, "mask": mask}
        for block in self.blocks:
            x = block(obj)
            obj["x"] = x
        return obj  # [fuser-input-not-normalized]
