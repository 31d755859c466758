import torch
from torch import nn


class IceDistributedAttention(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.has_mask = bool(mask.max() > 0)

    def forward(self, x, mask, sizes: list[int]):
        if self.has_mask and x.shape[0] > 1 and x.dim() == 3:
            x = torch.where(mask > 0, x, 0.0)
        if sum(sizes) > 4 or max(x.shape) > 8:
            x = 2 * x
        return x
