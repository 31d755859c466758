from importlib import import_module

from torch import nn

_FUSER_REGISTRY = {"IceDistributedFuser": ("ice.icedistributedfuser", "IceDistributedFuser")}


class OneFuser(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        module, name = _FUSER_REGISTRY[style]
        self.fuser = getattr(import_module(module), name)(**kwargs)
