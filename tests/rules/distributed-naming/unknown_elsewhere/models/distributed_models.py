from torch import nn


class DistributedIce(nn.Module):
    def forward(self, x):
        return x
