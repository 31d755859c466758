from types import SimpleNamespace

from torch import nn


class IceDistributedFuser(nn.Module):
    def forward(self, obj):
        return obj.x * obj.mask  # [fuser-mask-access-unsafe]


class IceDistributedModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.fuser = IceDistributedFuser()

    def forward(self, x, mask):
        return self.fuser(SimpleNamespace(x=x)) + self.fuser(SimpleNamespace(x=x, mask=mask))
