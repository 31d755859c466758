from torch import nn


class IceDistributedDownSample(nn.Module):
    def forward(self, x):
        return x
