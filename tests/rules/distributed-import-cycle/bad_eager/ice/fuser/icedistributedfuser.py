from torch import nn

from .icedistributedlocalfuser import IceDistributedLocalFuser
from .onefuser import OneFuser  # [distributed-import-cycle]


class IceDistributedFuser(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.rest = OneFuser(style="IceDistributedFuser", dim=dim)
