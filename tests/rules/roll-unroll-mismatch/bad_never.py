import torch
from torch import nn


class Tides(nn.Module):
    def forward(self, x):
        x = torch.roll(x, shifts=(-self.rows, -self.columns), dims=(1, 2))  # [roll-unroll-mismatch]
        windows = self.attend(window_partition(x, self.window))
        return window_reverse(windows, self.window)
