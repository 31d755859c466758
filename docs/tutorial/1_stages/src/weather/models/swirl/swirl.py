"""Swirl, a small weather model over two resolutions, on one device.

# B batch, Y latitude, X longitude (cyclic), C channel
"""

import torch
from torch import nn

from ...modules.fuser.onefuser import OneFuser


class Swirl(nn.Module):
    """Patches by a convolution, four layers of window attention, one skip connection.

    Args:
        img_size: cells (Y, X) of the fields.
        patch_size: cells along each side of a patch.
        in_chans, out_chans: channels of input and output.
        embed_dim: C of the fine grid; the coarse one has 2C.
        num_heads: attention heads of the four layers.
        window_size: patches (Y, X) of a window; windows fill both grids.
        depths: blocks of the four layers.

    Input: (B, in_chans, Y, X). Output: (B, out_chans, Y, X).
    """

    def __init__(
        self,
        img_size=(48, 96),
        patch_size=4,
        in_chans=72,
        out_chans=69,
        embed_dim=32,
        num_heads=(2, 4, 4, 2),
        window_size=(3, 6),
        depths=(2, 2, 2, 2),
    ):
        super().__init__()
        fine = (img_size[0] // patch_size, img_size[1] // patch_size)
        coarse = (fine[0] // 2, fine[1] // 2)
        self.embed = nn.Conv2d(in_chans, embed_dim, patch_size, stride=patch_size)
        self.layer1 = OneFuser(
            style="SwirlFuser",
            dim=embed_dim,
            input_resolution=fine,
            depth=depths[0],
            num_heads=num_heads[0],
            window_size=window_size,
        )
        self.downsample = nn.Conv2d(embed_dim, 2 * embed_dim, 2, stride=2)
        self.layer2 = OneFuser(
            style="SwirlFuser",
            dim=2 * embed_dim,
            input_resolution=coarse,
            depth=depths[1],
            num_heads=num_heads[1],
            window_size=window_size,
        )
        self.layer3 = OneFuser(
            style="SwirlFuser",
            dim=2 * embed_dim,
            input_resolution=coarse,
            depth=depths[2],
            num_heads=num_heads[2],
            window_size=window_size,
        )
        self.upsample = nn.ConvTranspose2d(2 * embed_dim, embed_dim, 2, stride=2)
        self.layer4 = OneFuser(
            style="SwirlFuser",
            dim=embed_dim,
            input_resolution=fine,
            depth=depths[3],
            num_heads=num_heads[3],
            window_size=window_size,
        )
        self.recover = nn.ConvTranspose2d(2 * embed_dim, out_chans, patch_size, stride=patch_size)

    def forward(self, x):
        x = self.embed(x).permute(0, 2, 3, 1)  # B, Y, X, C
        x = self.layer1(x)
        skip = x
        x = self.downsample(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.upsample(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        x = self.layer4(x)
        x = torch.cat([x, skip], dim=-1)
        return self.recover(x.permute(0, 3, 1, 2))
