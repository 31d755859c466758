from torch import nn

from ice.onefuser import OneFuser


class Ice_stage0(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        self.config = config
        self.first = OneFuser(style="IceDistributedFuser", dim=dim)  # [config-not-forwarded]
        self.second = OneFuser(style="IceDistributedFuser", dim=dim, config=None)  # [config-not-forwarded]
        self.third = OneFuser(style="IceDistributedFuser", dim=dim, config=config)

    def forward(self, x):
        return self.third(self.second(self.first(x)))
