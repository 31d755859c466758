from torch import nn

from ice.onefuser import OneFuser


class Ice_stage0(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        self.plain = OneFuser(style="IceFuser", dim=dim, config=config)  # [style-arguments-rejected]
        self.split = OneFuser(style="IceDistributedFuser", depth=3, config=config)  # [style-arguments-rejected]
        self.right = OneFuser(style="IceDistributedFuser", dim=dim, config=config)

    def forward(self, x):
        return self.right(self.split(self.plain(x)))
