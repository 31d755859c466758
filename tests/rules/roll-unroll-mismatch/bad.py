import torch
from torch import nn


class EarthBlock(nn.Module):
    """Shifted windows over pressure, latitude and longitude."""

    def forward(self, x):
        shift_pl, shift_lat, shift_lon = self.shift_size
        if self.roll:
            x = x.roll(shifts=(-shift_pl, -shift_lat, -shift_lon), dims=(1, 2, 3))
        x = self.attn(x)
        if self.roll:
            x = torch.roll(x, (shift_pl, shift_lon, shift_lat), dims=(1, 2, 3))  # [roll-unroll-mismatch]
        return x
