import torch
from torch import nn


class Swin(nn.Module):
    def __init__(self, dim, win, shift):
        super().__init__()
        self.win, self.shift = win, shift
        self.norm, self.attn = nn.LayerNorm(dim), nn.MultiheadAttention(dim, 4, batch_first=True)

    def forward(self, x):
        b, h, w, c = x.shape
        y = self.norm(x)
        if self.shift:
            y = torch.roll(y, shifts=(-self.shift, -self.shift), dims=(1, 2))
        y = y.view(b * h // self.win, self.win * w, c)
        y = self.attn(y, y, y)[0].view(b, h, w, c)
        if self.shift:
            y = torch.roll(y, shifts=(self.shift, self.shift), dims=(1, 2))
        return x + y
