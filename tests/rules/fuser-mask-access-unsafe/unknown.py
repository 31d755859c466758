from torch import nn


class Asks(nn.Module):
    def forward(self, obj):
        x = obj["x"]
        return x * obj["mask"] if "mask" in obj else x


class AsksObject(nn.Module):
    def forward(self, obj):
        return obj.x * obj.mask if hasattr(obj, "mask") else obj.x


class Batch(nn.Module):
    """No dict of the fuser interface: it holds no `x`."""

    def forward(self, batch):
        return batch["image"] * batch["mask"]
