from torch import nn

from .icedistributedfuser import IceDistributedFuser

_FUSER_REGISTRY = {"IceDistributedFuser": IceDistributedFuser}


class OneFuser(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.fuser = _FUSER_REGISTRY[style](**kwargs)
