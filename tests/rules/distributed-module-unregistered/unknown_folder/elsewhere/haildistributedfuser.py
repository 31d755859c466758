from torch import nn


class HailDistributedFuser(nn.Module):
    def forward(self, x):
        return x
