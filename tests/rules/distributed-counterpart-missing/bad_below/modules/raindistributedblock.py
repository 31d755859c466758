from torch import nn


class RainDistributedBlock(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        from .. import modules

        self.attention = modules.oneblock.OneBlock(style="RainAttention", dim=dim)  # [distributed-counterpart-missing]
