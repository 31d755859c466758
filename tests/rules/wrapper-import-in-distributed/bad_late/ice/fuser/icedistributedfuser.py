from torch import nn


class IceDistributedFuser(nn.Module):
    def __init__(self, dim):
        super().__init__()
        from .onefuser import OneFuser  # [wrapper-import-in-distributed]

        self.rest = OneFuser(style="IceFuser", dim=dim)
