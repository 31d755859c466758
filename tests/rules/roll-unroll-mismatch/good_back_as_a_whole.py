import torch
from torch import nn


class ShiftedBlock(nn.Module):
    """Shifts by the items of a pair, and back by the pair."""

    def forward(self, x):
        shifted = torch.roll(x, shifts=(-self.shift_size[0], -self.shift_size[1]), dims=(1, 2))
        windows = window_partition(shifted, self.window_size)
        shifted = window_reverse(self.attn(windows), self.window_size)
        return torch.roll(shifted, shifts=self.shift_size, dims=(1, 2))
