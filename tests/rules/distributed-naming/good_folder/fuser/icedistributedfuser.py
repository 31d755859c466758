from torch import nn


class IceDistributedFuser(nn.Module):
    def forward(self, x):
        return x


class IceDistributedBlock(nn.Module):
    """A part of the fuser, in its file."""
