"""Stacks of transformer blocks, chosen by style."""

from torch import nn

from .pangudistributedfuser import PanguDistributedFuser
from .pangufuser import PanguFuser
from .xihedistributedfuser import XiheDistributedFuser
from .xihedistributedglobalsiefuser import XiheDistributedGlobalSIEFuser
from .xihedistributedlocalsiefuser import XiheDistributedLocalSIEFuser
from .xihefuser import XiheFuser
from .xiheglobalsiefuser import XiheGlobalSIEFuser
from .xihelocalsiefuser import XiheLocalSIEFuser

_FUSER_REGISTRY = {
    "PanguDistributedFuser": PanguDistributedFuser,
    "PanguFuser": PanguFuser,
    "XiheDistributedFuser": XiheDistributedFuser,
    "XiheDistributedGlobalSIEFuser": XiheDistributedGlobalSIEFuser,
    "XiheDistributedLocalSIEFuser": XiheDistributedLocalSIEFuser,
    "XiheFuser": XiheFuser,
    "XiheGlobalSIEFuser": XiheGlobalSIEFuser,
    "XiheLocalSIEFuser": XiheLocalSIEFuser,
}


class OneFuser(nn.Module):
    """Builds the fuser named ``style`` from the remaining keywords and calls it."""

    def __init__(self, style: str, **kwargs):
        super().__init__()
        if style not in _FUSER_REGISTRY:
            raise ValueError(f"unknown fuser style {style!r}; choose one of {sorted(_FUSER_REGISTRY)}")
        self.fuser = _FUSER_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.fuser(*args, **kwargs)
