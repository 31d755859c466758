from torch import nn


class HailMixer(nn.Module):
    def forward(self, x):
        return x
