from torch import nn

from .icedistributedlocalfuser import IceDistributedLocalFuser


class IceDistributedFuser(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.rest = IceDistributedLocalFuser()
