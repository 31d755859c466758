from torch import nn


class HailDistributedFuser(nn.Module):
    def forward(self, x):
        return x


class HailDistributedMixer(nn.Module):  # [distributed-naming]
    def forward(self, x):
        return x


class HailDistributedHelper(nn.Module):
    def forward(self, x):
        return x
