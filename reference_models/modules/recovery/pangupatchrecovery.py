"""From tokens back to fields.

# B batch, V variable, P pressure level, Y latitude, X longitude (cyclic), C channel
"""

import torch
from torch import nn
from torch.nn import functional as F

from ..padding import crop_grid


class PanguPatchRecovery(nn.Module):
    """Map each token to a patch of a field and cut off what the embedding padded.

    Source: Bi et al. 2023 (Pangu-Weather), Methods, patch recovery.

    Args:
        img_size: cells (Y, X) of a surface field or (P, Y, X) of an upper-air field.
        patch_size: cells of a patch, as many axes as img_size.
        in_chans: C.
        out_chans: V.
        levels: pressure levels of img_size that this rank has, None for all.

    Input: (B, P, Y, X, C), one token per patch. Output: (B, V, Y, X) or (B, V, P, Y, X).
    """

    def __init__(self, img_size, patch_size, in_chans: int, out_chans: int, levels: int | None = None):
        super().__init__()
        if len(img_size) != len(patch_size) or len(img_size) not in (2, 3):
            raise ValueError(f"img_size {img_size} and patch_size {patch_size} must both have 2 or 3 axes")
        self.surface = len(img_size) == 2
        self.img_size = (1, *img_size)[-3:]
        if levels is not None:
            self.img_size = (levels, *self.img_size[1:])
        patch = (1, *patch_size)[-3:]
        self.proj = nn.ConvTranspose3d(in_chans, out_chans, kernel_size=patch, stride=patch)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # Patches do not overlap, so the transposed convolution is one matrix product, and that is faster.
        batch, n_p, n_y, n_x, _ = x.shape
        variables, (w_p, w_y, w_x) = self.proj.out_channels, self.proj.kernel_size
        bias = self.proj.bias.repeat_interleave(w_p * w_y * w_x)
        x = F.linear(x, self.proj.weight.flatten(1).T, bias)  # B, nP, nY, nX, V * cells of a patch
        x = x.view(batch, n_p, n_y, n_x, variables, w_p, w_y, w_x).permute(0, 4, 1, 5, 2, 6, 3, 7)
        x = x.reshape(batch, variables, n_p * w_p, n_y * w_y, n_x * w_x)
        x = crop_grid(x, self.img_size, dim=2)
        return x.squeeze(2) if self.surface else x
