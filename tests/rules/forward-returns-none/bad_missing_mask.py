from torch import nn


class IceDistributedGrouping(nn.Module):
    def forward(self, obj):
        x, mask = obj["x"], None
        mask = obj.get("mask")
        if mask is None:
            return None
        return x * mask


class IceDistributedMlp(nn.Module):
    def forward(self, x):
        return x.flatten(2)


class IceDistributedFuser(nn.Module):
    def __init__(self):
        super().__init__()
        self.grouping = IceDistributedGrouping()
        self.mlp = IceDistributedMlp()

    def forward(self, obj):
        mask = obj.get("mask")
        if mask is not None:
            mask = mask.float()
        x = self.grouping({"x": obj["x"], "mask": mask})
        return self.mlp(x)  # [forward-returns-none]
