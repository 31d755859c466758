from torch import nn

from ice.icefuser import IceFuser

_FUSER_REGISTRY = {
    "IceFuser": IceFuser,
    "Identity": nn.Identity,
    "IceLazyFuser": ("ice.icefuser", "IceFuser"),
    "LateFuser": ("ice.icefuser", "LateFuser"),
    "DottedFuser": "ice.icefuser.IceFuser",
}
