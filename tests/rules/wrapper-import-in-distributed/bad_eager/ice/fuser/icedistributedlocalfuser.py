from torch import nn


class IceDistributedLocalFuser(nn.Module):
    def forward(self, x):
        return x
