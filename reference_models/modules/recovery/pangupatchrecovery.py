"""From tokens back to fields.

# B batch, V variable, P pressure level, Y latitude, X longitude (cyclic), C channel
"""

import torch
from torch import nn

from ..padding import crop_grid


class PanguPatchRecovery(nn.Module):
    """Map each token to a patch of a field and cut off what the embedding padded.

    Source: Bi et al. 2023 (Pangu-Weather), Methods, patch recovery.

    Args:
        img_size: cells (Y, X) of a surface field or (P, Y, X) of an upper-air field.
        patch_size: cells of a patch, as many axes as img_size.
        in_chans: C.
        out_chans: V.

    Input: (B, P, Y, X, C), one token per patch. Output: (B, V, Y, X) or (B, V, P, Y, X).
    """

    def __init__(self, img_size, patch_size, in_chans: int, out_chans: int):
        super().__init__()
        if len(img_size) != len(patch_size) or len(img_size) not in (2, 3):
            raise ValueError(f"img_size {img_size} and patch_size {patch_size} must both have 2 or 3 axes")
        self.surface = len(img_size) == 2
        self.img_size = (1, *img_size)[-3:]
        patch = (1, *patch_size)[-3:]
        self.proj = nn.ConvTranspose3d(in_chans, out_chans, kernel_size=patch, stride=patch)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.proj(x.permute(0, 4, 1, 2, 3))
        x = crop_grid(x, self.img_size, dim=2)
        return x.squeeze(2) if self.surface else x
