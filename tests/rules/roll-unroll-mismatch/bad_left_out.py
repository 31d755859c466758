import torch
from torch import nn


class Tides(nn.Module):
    def once_more(self, x, rows, columns):
        x = torch.roll(x, shifts=(-rows, -columns), dims=(1, 2))
        x = self.attend(x)
        return torch.roll(x, shifts=(-rows, -columns), dims=(1, 2))  # [roll-unroll-mismatch]

    def one_axis(self, x, depth, rows, columns):
        x = torch.roll(x, shifts=(-depth, -rows, -columns), dims=(1, 2, 3))
        x = self.attend(x)
        return torch.roll(x, shifts=(depth, rows), dims=(1, 2))  # [roll-unroll-mismatch]


class Swell(nn.Module):
    def there(self, x):
        return x.roll((-self.depth, -self.rows, -self.rows), (1, 2, 3))

    def back(self, x):
        return x.roll((self.depth, self.rows, self.columns), (1, 2, 3))  # [roll-unroll-mismatch]
