"""Pangu-Weather on one device.

# B batch, P pressure level, Y latitude, X longitude (cyclic), C channel, L = P * Y * X tokens
"""

import numpy as np
import torch
from torch import nn

from ...modules import OneEmbedding, OneFuser, OneRecovery, OneSample
from .grids import CONSTANT_MASKS, PRESSURE_LEVELS, SURFACE_VARIABLES, UPPER_AIR_VARIABLES, token_grids


class Pangu(nn.Module):
    """3-D Earth-specific transformer: a U-shape of four layers over two resolutions with one skip connection.

    Source: Bi et al. 2023, Accurate medium-range global weather forecasting with 3D neural networks, Nature
    619, figure 2 and Methods (preprint arXiv:2211.02556).

    Args:
        img_size: cells (Y, X) of the fields; any size, what patches and windows do not fill is padded.
        patch_size: cells of a patch (pressure, latitude, longitude).
        embed_dim: C of the fine grid; the coarse one has 2C.
        num_heads: attention heads of the four layers.
        window_size: tokens of a window (pressure, latitude, longitude).
        depths: blocks of the four layers.
        drop, attn_drop: dropout rates of features and of attention weights.
        drop_path: stochastic-depth rate of the last block; it grows linearly from 0 over all blocks.

    Input: (B, 4 surface + 3 masks + 5 x 13 upper air, Y, X). Output: the same channels without the masks.
    """

    def __init__(
        self,
        img_size=(721, 1440),
        patch_size=(2, 4, 4),
        embed_dim=192,
        num_heads=(6, 12, 12, 6),
        window_size=(2, 6, 12),
        depths=(2, 6, 6, 2),
        drop=0.0,
        attn_drop=0.0,
        drop_path=0.2,
    ):
        super().__init__()
        fine, coarse = token_grids(img_size, patch_size)
        self.grid = fine
        depth1, depth2, depth3, depth4 = depths
        before3 = depth1 + depth2  # blocks before layer 3
        before4 = before3 + depth3
        rates = np.linspace(0, drop_path, depth1 + depth2 + depth3 + depth4).tolist()

        self.patchembed2d = OneEmbedding(
            style="PanguEmbedding",
            img_size=img_size,
            patch_size=patch_size[1:],
            variables=SURFACE_VARIABLES + CONSTANT_MASKS,
            embed_dim=embed_dim,
        )
        self.patchembed3d = OneEmbedding(
            style="PanguEmbedding",
            img_size=(PRESSURE_LEVELS, *img_size),
            patch_size=patch_size,
            variables=UPPER_AIR_VARIABLES,
            embed_dim=embed_dim,
        )
        self.layer1 = OneFuser(
            style="PanguFuser",
            dim=embed_dim,
            input_resolution=fine,
            depth=depth1,
            num_heads=num_heads[0],
            window_size=window_size,
            drop=drop,
            attn_drop=attn_drop,
            drop_path=rates[:depth1],
        )
        self.downsample = OneSample(
            style="PanguDownSample", input_resolution=fine, output_resolution=coarse, in_dim=embed_dim
        )
        self.layer2 = OneFuser(
            style="PanguFuser",
            dim=2 * embed_dim,
            input_resolution=coarse,
            depth=depth2,
            num_heads=num_heads[1],
            window_size=window_size,
            drop=drop,
            attn_drop=attn_drop,
            drop_path=rates[depth1:before3],
        )
        self.layer3 = OneFuser(
            style="PanguFuser",
            dim=2 * embed_dim,
            input_resolution=coarse,
            depth=depth3,
            num_heads=num_heads[2],
            window_size=window_size,
            drop=drop,
            attn_drop=attn_drop,
            drop_path=rates[before3:before4],
        )
        self.upsample = OneSample(
            style="PanguUpSample",
            input_resolution=coarse,
            output_resolution=fine,
            in_dim=2 * embed_dim,
            out_dim=embed_dim,
        )
        self.layer4 = OneFuser(
            style="PanguFuser",
            dim=embed_dim,
            input_resolution=fine,
            depth=depth4,
            num_heads=num_heads[3],
            window_size=window_size,
            drop=drop,
            attn_drop=attn_drop,
            drop_path=rates[before4:],
        )
        self.patchrecovery2d = OneRecovery(
            style="PanguPatchRecovery",
            img_size=img_size,
            patch_size=patch_size[1:],
            in_chans=2 * embed_dim,
            out_chans=SURFACE_VARIABLES,
        )
        self.patchrecovery3d = OneRecovery(
            style="PanguPatchRecovery",
            img_size=(PRESSURE_LEVELS, *img_size),
            patch_size=patch_size,
            in_chans=2 * embed_dim,
            out_chans=UPPER_AIR_VARIABLES,
        )
        for module in self.modules():
            if isinstance(module, nn.Linear):  # as Megatron starts its linear layers
                nn.init.normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        surface, upper_air = x.split(
            [SURFACE_VARIABLES + CONSTANT_MASKS, UPPER_AIR_VARIABLES * PRESSURE_LEVELS], dim=1
        )
        upper_air = upper_air.unflatten(1, (UPPER_AIR_VARIABLES, PRESSURE_LEVELS))
        x = torch.cat([self.patchembed2d(surface), self.patchembed3d(upper_air)], dim=1)  # B, L, C

        x = self.layer1(x)
        skip = x
        x = self.downsample(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.upsample(x)
        x = self.layer4(x)

        x = torch.cat([x, skip], dim=-1).unflatten(1, self.grid)  # B, P, Y, X, 2C
        surface = self.patchrecovery2d(x[:, :1])
        upper_air = self.patchrecovery3d(x[:, 1:])
        return torch.cat([surface, upper_air.flatten(1, 2)], dim=1)
