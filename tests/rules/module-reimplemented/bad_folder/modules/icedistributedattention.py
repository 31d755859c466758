from torch import nn


def window_partition(x: object, size: int):  # [module-reimplemented]
    b, h, w, c = x.shape
    return x.view(b, h // size, size, w // size, size, c)


class IceDistributedAttention(nn.Module):
    def forward(self, x):
        return window_partition(x, 2)
