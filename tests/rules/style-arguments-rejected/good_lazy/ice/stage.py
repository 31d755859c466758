from torch import nn

from ice.onefuser import OneFuser


class Ice_stage0(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        self.plain = OneFuser(style="IceFuser", dim=dim)
        self.split = OneFuser("IceDistributedFuser", dim=dim, depth=3, config=config)

    def forward(self, x):
        return self.split(self.plain(x))
