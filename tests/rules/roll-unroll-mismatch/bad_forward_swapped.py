import torch
from torch import nn


class Shift(nn.Module):
    """The roll in front is the odd one: its axes stand in the wrong order."""

    def forward(self, x):
        shift_lat, shift_lon = self.shift_size
        y = torch.roll(x, shifts=(-shift_lon, -shift_lat), dims=(1, 2))  # [roll-unroll-mismatch]
        return torch.roll(self.attn(y), shifts=(shift_lat, shift_lon), dims=(1, 2))


class Items(nn.Module):
    def forward(self, x):
        y = torch.roll(x, shifts=(-self.shift[0], -self.shift[1], -self.shift[1]), dims=(1, 2, 3))  # [roll-unroll-mismatch]
        y = self.attn(y)
        return torch.roll(y, shifts=(self.shift[0], self.shift[1], self.shift[2]), dims=(1, 2, 3))
