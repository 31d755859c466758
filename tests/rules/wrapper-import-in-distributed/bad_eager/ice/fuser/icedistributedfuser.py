from torch import nn

from .icedistributedlocalfuser import IceDistributedLocalFuser
from .onefuser import OneFuser  # [wrapper-import-in-distributed]


class IceDistributedFuser(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.rest = OneFuser(style="IceDistributedFuser", dim=dim)
