from torch import nn


class IceDistributedFuser(nn.Module):  # [distributed-naming]
    def forward(self, x):
        return x
