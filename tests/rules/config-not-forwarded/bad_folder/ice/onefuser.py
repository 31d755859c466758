from torch import nn

from ice.lazy import build

_FUSER_REGISTRY = {
    "IceFuser": ("ice.icefuser", "IceFuser"),
    "IceDistributedFuser": ("ice.icedistributedfuser", "IceDistributedFuser"),
}


class OneFuser(nn.Module):
    def __init__(self, style: str, **kwargs):
        super().__init__()
        self.fuser = build(style, _FUSER_REGISTRY, **kwargs)

    def forward(self, *args, **kwargs):
        return self.fuser(*args, **kwargs)
