import torch
from torch import Tensor, nn


class IceDistributedAttention(nn.Module):
    def forward(self, x, mask: Tensor = None):
        if mask is not None:
            wide = mask.to(torch.float32)
            if wide.max() > 0:  # [device-sync-in-forward]
                wide = torch.where(wide > 0, float("-inf"), wide)
            x = x + wide
        scale = 2 if torch.any(x > 1) else 1  # [device-sync-in-forward]
        return x.to(torch.float32) * scale
