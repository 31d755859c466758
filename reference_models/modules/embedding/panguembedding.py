"""Patch embedding of surface and upper-air fields.

# B batch, V variable, P pressure level, Y latitude, X longitude (cyclic), C channel
# L = P * Y * X tokens, counted after patching
"""

import torch
from torch import nn
from torch.nn import functional as F

from ..padding import pad_grid, round_up


class PanguEmbedding(nn.Module):
    """Cut a field into patches that do not overlap and map each to C channels.

    Source: Bi et al. 2023 (Pangu-Weather), Methods, patch embedding.

    Args:
        img_size: cells (Y, X) of a surface field or (P, Y, X) of an upper-air field.
        patch_size: cells of a patch, as many axes as img_size.
        variables: V.
        embed_dim: C.
        levels: pressure levels of img_size that this rank has, None for all.

    Input: (B, V, Y, X) or (B, V, P, Y, X). Output: (B, L, C), L in the order (P, Y, X).
    """

    def __init__(self, img_size, patch_size, variables: int, embed_dim: int, levels: int | None = None):
        super().__init__()
        if len(img_size) != len(patch_size) or len(img_size) not in (2, 3):
            raise ValueError(f"img_size {img_size} and patch_size {patch_size} must both have 2 or 3 axes")
        self.img_size = (1, *img_size)[-3:]
        if levels is not None:
            self.img_size = (levels, *self.img_size[1:])
        patch = (1, *patch_size)[-3:]
        self.padded_size = round_up(self.img_size, patch)
        self.proj = nn.Conv3d(variables, embed_dim, kernel_size=patch, stride=patch)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.ndim == 4:
            x = x.unsqueeze(2)
        if tuple(x.shape[2:]) != self.img_size:
            raise ValueError(
                f"the embedding was built for {self.img_size} cells (P, Y, X), got {tuple(x.shape[2:])}"
            )
        # Patches do not overlap, so the convolution is one matrix product over them, and that is faster.
        x = pad_grid(x, self.padded_size, dim=2)
        (p, y, x_size), (w_p, w_y, w_x) = self.padded_size, self.proj.kernel_size
        x = x.reshape(x.shape[0], -1, p // w_p, w_p, y // w_y, w_y, x_size // w_x, w_x)
        patches = x.permute(0, 2, 4, 6, 1, 3, 5, 7).flatten(4).flatten(1, 3)  # B, L, V * cells of a patch
        return F.linear(patches, self.proj.weight.flatten(1), self.proj.bias)
