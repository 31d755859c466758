from torch import nn


class HailFuser(nn.Module):
    def forward(self, x):
        return x
