from torch import nn

from ice.fuser.onefuser import OneFuser  # [distributed-import-cycle]


class IceDistributedAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fuser = OneFuser(style="IceFuser", dim=dim)
