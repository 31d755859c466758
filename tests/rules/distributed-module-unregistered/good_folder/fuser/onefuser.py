from torch import nn

_FUSER_REGISTRY = {"IceDistributedFuser": ("fuser.icedistributedfuser", "IceDistributedFuser")}
