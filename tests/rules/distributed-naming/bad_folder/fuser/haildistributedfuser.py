from torch import nn


class DistributedHailFuser(nn.Module):  # [distributed-naming]
    def forward(self, x):
        return x
