from torch import nn


class DistributedMlp(nn.Module):
    def forward(self, x):
        return x
