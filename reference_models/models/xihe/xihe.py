"""Xihe on one device.

# B batch, Y latitude, X longitude (cyclic), C channel, L = Y * X tokens
"""

import numpy as np
import torch
from torch import nn

from ...modules import OneEmbedding, OneFuser, OneRecovery, OneSample
from .grids import INPUT_CHANNELS, OUTPUT_CHANNELS, token_grids
from .mask import change_mask, load_mask


class Xihe(nn.Module):
    """Global ocean model: five blocks over two resolutions with one skip connection; land is masked.

    Source: Wang et al. 2024, XiHe: A data-driven model for global ocean eddy-resolving forecasting, arXiv:2402.02995.

    Args:
        img_size: cells (Y, X) of the fields; any size, what patches and windows do not fill is padded.
        patch_size: cells of a patch (latitude, longitude).
        window_size: tokens of a window (latitude, longitude).
        embed_dim: C of the fine grid; the coarse one has 2C.
        num_heads: attention heads of the five blocks.
        in_chans, out_chans: channels of input and output.
        mask_full: (Y, X), 1 for ocean and 0 for land: array, tensor or path of a .npy file; None without land.
        num_groups: groups of the global parts.
        num_local: local parts of the five blocks, each with depth_local transformer blocks. Each block has one global
            part.
        depth_local: transformer blocks of a local part.
        drop, attn_drop: dropout rates of features and of attention weights.
        drop_path: stochastic-depth rate of the last transformer block; it grows linearly from 0 over all of them.

    Input: (B, in_chans, Y, X). Output: (B, out_chans, Y, X); what it holds over land means nothing.
    """

    def __init__(
        self,
        img_size=(2041, 4320),
        patch_size=(6, 12),
        window_size=(6, 12),
        embed_dim=192,
        num_heads=(6, 12, 12, 12, 6),
        in_chans=INPUT_CHANNELS,
        out_chans=OUTPUT_CHANNELS,
        mask_full=None,
        num_groups=32,
        num_local=(1, 2, 2, 2, 1),
        depth_local=2,
        drop=0.0,
        attn_drop=0.0,
        drop_path=0.2,
    ):
        super().__init__()
        self.fine, self.coarse = token_grids(img_size, patch_size)
        self.register_buffer("mask_full", load_mask(mask_full, img_size), persistent=False)
        window = (1, *window_size)
        depth1, depth2, depth3, depth4, depth5 = (depth_local * count for count in num_local)
        before3 = depth1 + depth2  # transformer blocks before block 3
        before4 = before3 + depth3
        before5 = before4 + depth4
        rates = np.linspace(0, drop_path, before5 + depth5).tolist()

        self.patchembed2d = OneEmbedding(
            style="PanguEmbedding",
            img_size=img_size,
            patch_size=patch_size,
            variables=in_chans,
            embed_dim=embed_dim,
        )
        self.block1 = OneFuser(
            style="XiheFuser",
            dim=embed_dim,
            input_resolution=self.fine,
            num_local=num_local[0],
            num_global=1,
            num_heads=num_heads[0],
            num_groups=num_groups,
            window_size=window,
            drop_path=rates[:depth1],
            depth_local=depth_local,
            drop=drop,
            attn_drop=attn_drop,
        )
        self.downsample = OneSample(
            style="PanguDownSample",
            input_resolution=self.fine,
            output_resolution=self.coarse,
            in_dim=embed_dim,
        )
        self.block2 = OneFuser(
            style="XiheFuser",
            dim=2 * embed_dim,
            input_resolution=self.coarse,
            num_local=num_local[1],
            num_global=1,
            num_heads=num_heads[1],
            num_groups=num_groups,
            window_size=window,
            drop_path=rates[depth1:before3],
            depth_local=depth_local,
            drop=drop,
            attn_drop=attn_drop,
        )
        self.block3 = OneFuser(
            style="XiheFuser",
            dim=2 * embed_dim,
            input_resolution=self.coarse,
            num_local=num_local[2],
            num_global=1,
            num_heads=num_heads[2],
            num_groups=num_groups,
            window_size=window,
            drop_path=rates[before3:before4],
            depth_local=depth_local,
            drop=drop,
            attn_drop=attn_drop,
        )
        self.block4 = OneFuser(
            style="XiheFuser",
            dim=2 * embed_dim,
            input_resolution=self.coarse,
            num_local=num_local[3],
            num_global=1,
            num_heads=num_heads[3],
            num_groups=num_groups,
            window_size=window,
            drop_path=rates[before4:before5],
            depth_local=depth_local,
            drop=drop,
            attn_drop=attn_drop,
        )
        self.upsample = OneSample(
            style="PanguUpSample",
            input_resolution=self.coarse,
            output_resolution=self.fine,
            in_dim=2 * embed_dim,
            out_dim=embed_dim,
        )
        self.block5 = OneFuser(
            style="XiheFuser",
            dim=embed_dim,
            input_resolution=self.fine,
            num_local=num_local[4],
            num_global=1,
            num_heads=num_heads[4],
            num_groups=num_groups,
            window_size=window,
            drop_path=rates[before5:],
            depth_local=depth_local,
            drop=drop,
            attn_drop=attn_drop,
        )
        self.skip_proj = nn.Linear(2 * embed_dim, embed_dim)
        self.patchrecovery2d = OneRecovery(
            style="PanguPatchRecovery",
            img_size=img_size,
            patch_size=patch_size,
            in_chans=embed_dim,
            out_chans=out_chans,
        )
        for module in self.modules():
            if isinstance(module, nn.Linear):  # as Megatron starts its linear layers
                nn.init.normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask1 = mask2 = None
        if self.mask_full is not None:
            mask1 = change_mask(self.mask_full, self.fine)
            mask2 = change_mask(mask1, self.coarse)

        x = self.patchembed2d(x)  # B, L, C
        x = self.block1({"x": x, "mask": mask1})
        skip = x
        x = self.downsample(x)
        x = self.block2({"x": x, "mask": mask2})
        x = self.block3({"x": x, "mask": mask2})
        x = self.block4({"x": x, "mask": mask2})
        x = self.upsample(x)
        x = self.block5({"x": x, "mask": mask1})

        x = self.skip_proj(torch.cat([x, skip], dim=-1))
        return self.patchrecovery2d(x.unflatten(1, self.fine))
