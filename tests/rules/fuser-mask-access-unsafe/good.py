from torch import nn


class IceFuser(nn.Module):
    def forward(self, obj):
        if isinstance(obj, dict):
            x, mask = obj["x"], obj.get("mask")
        else:
            x, mask = obj.x, getattr(obj, "mask", None)
            obj = {"x": x, "mask": mask}
        obj["mask"] = mask
        return x if obj["mask"] is None else x * obj["mask"]


class TensorFuser(nn.Module):
    """Takes a tensor and has no mask."""

    def forward(self, x):
        return 2 * x
