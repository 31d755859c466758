"""The same shifts there and back, over axes in another order."""

import torch
from torch import nn


class ShiftedBlock(nn.Module):
    def forward(self, x):
        up, left = self.shift_size
        shifted = torch.roll(x, shifts=(-up, -left), dims=(2, 1))  # [roll-unroll-mismatch]
        y = self.attn(shifted)
        return torch.roll(y, shifts=(up, left), dims=(1, 2))
