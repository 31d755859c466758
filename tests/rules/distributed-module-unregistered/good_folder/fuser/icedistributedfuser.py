from torch import nn

from .icedistributedlocalfuser import IceDistributedLocalFuser


class IceDistributedFuser(nn.Module):
    """The local fuser is a part of it, and needs no style of its own."""

    def __init__(self):
        super().__init__()
        self.local = IceDistributedLocalFuser()
