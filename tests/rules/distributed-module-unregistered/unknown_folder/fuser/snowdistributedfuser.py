from torch import nn


class SnowDistributedFuser(nn.Module):
    def forward(self, x):
        return x
