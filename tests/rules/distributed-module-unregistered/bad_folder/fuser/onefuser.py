from torch import nn

_FUSER_REGISTRY = {
    "IceFuser": ("fuser.icefuser", "IceFuser"),
    "IceDistributedFuser": ("fuser.icedistributedfuser", "IceDistributedFuser"),
}
