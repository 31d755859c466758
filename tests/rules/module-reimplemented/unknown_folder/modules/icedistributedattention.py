from torch import nn


def window_partition(x, size):
    """Another one: of volumes."""
    b, p, h, w, c = x.shape
    return x.view(b, p, h // size, size, w // size, size, c)


def identity(x):
    return x


class IceDistributedAttention(nn.Module):
    def forward(self, x):
        return identity(window_partition(x, 2))
