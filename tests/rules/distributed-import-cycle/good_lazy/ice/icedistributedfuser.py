from torch import nn

from ice.onefuser import OneFuser


class IceDistributedFuser(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.rest = OneFuser(style="IceDistributedFuser", dim=dim)
