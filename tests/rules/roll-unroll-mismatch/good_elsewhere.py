import torch
from torch import nn


class Tides(nn.Module):
    def enter(self, x):
        x = torch.roll(x, shifts=(-self.rows, -self.columns), dims=(1, 2))
        return self.attend(x)

    def leave(self, x):
        return torch.roll(window_reverse(x), shifts=(self.rows, self.columns), dims=(1, 2))

    def jitter(self, x, rows, columns):
        x = torch.roll(x, shifts=(-rows, -columns), dims=(1, 2))
        x = torch.roll(x, shifts=(-self.rows, -self.columns), dims=(1, 2))
        return x
