"""Last pipeline stage of Pangu-Weather: the end of the coarse decoder layer, the fine one and recovery.

# B batch, P pressure level, Y latitude, X longitude (cyclic), C channel
# L_fine, L_coarse tokens P * Y * X of the two grids
"""

import numpy as np
import torch
from megatron.core.tensor_parallel import checkpoint

from onescience_check.runtime.training import get_args
from onescience_check.runtime.training.arguments import core_transformer_config_from_args

from ...modules import OneFuser, OneRecovery, OneSample
from ...modules.window_parallel import own_part
from ..pangu.grids import PRESSURE_LEVELS, SURFACE_VARIABLES, UPPER_AIR_VARIABLES, token_grids
from ..pipeline_stage import PipelineStage
from .levels import gather_levels, own_pressure_levels


class Pangu_stage3(PipelineStage):
    """The last blocks of layer 3, up-sampling, layer 4 and recovery, which takes the skip connection.

    Args:
        img_size, patch_size, embed_dim, num_heads, window_size, depths, drop, attn_drop, drop_path: see
            Pangu. Each of num_heads is a multiple of the tensor-parallel size.
        config: Megatron's TransformerConfig, by default the one that the command line describes. Its
            recompute_granularity "full" recomputes each layer in backward instead of keeping activations.
        kwargs: arguments of other stages, ignored.

    Input through set_input_tensor: x (B, L_coarse, 2C) and skip (B, L_fine, C).
    Output: (B, 4 surface + 5 x 13 upper air, Y, X).
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
        config=None,
        **kwargs,
    ):
        if config is None:
            config = core_transformer_config_from_args(get_args())
        super().__init__(config)
        self.config = config
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.recompute = config.recompute_granularity == "full"

        fine, coarse = token_grids(img_size, patch_size)
        depth1, depth2, depth3, depth4 = depths
        self.grid = own_part(fine)
        self.patch_size = patch_size
        self.has_surface, levels = own_pressure_levels(patch_size)
        # Blocks of layer 3 that stage 2 has, see the package docstring
        front3 = depth3 - max(depth3 - depth4, 0) // 2
        before3 = depth1 + depth2  # blocks before layer 3
        before4 = before3 + depth3
        rates = np.linspace(0, drop_path, depth1 + depth2 + depth3 + depth4).tolist()

        self.layer3 = OneFuser(
            style="PanguDistributedFuser",
            dim=2 * embed_dim,
            input_resolution=coarse,
            depth=depth3 - front3,
            num_heads=num_heads[2],
            window_size=window_size,
            drop=drop,
            attn_drop=attn_drop,
            drop_path=rates[before3 + front3 : before4],
            first_block=front3,
            config=config,
        )
        self.upsample = OneSample(
            style="PanguDistributedUpSample",
            input_resolution=own_part(coarse),
            output_resolution=own_part(fine),
            in_dim=2 * embed_dim,
            out_dim=embed_dim,
            config=config,
        )
        self.layer4 = OneFuser(
            style="PanguDistributedFuser",
            dim=embed_dim,
            input_resolution=fine,
            depth=depth4,
            num_heads=num_heads[3],
            window_size=window_size,
            drop=drop,
            attn_drop=attn_drop,
            drop_path=rates[before4:],
            config=config,
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
            levels=len(levels),  # onescience: differs  window-parallel ranks
            patch_size=patch_size,
            in_chans=2 * embed_dim,
            out_chans=UPPER_AIR_VARIABLES,
        )

    def set_input_tensor(self, input_tensor):
        """Take what the previous stage sent; the pipeline schedule calls it before ``forward``."""
        self.input_tensor = input_tensor

    def forward(self, x=None):
        assert self.input_tensor is not None, "no input: call set_input_tensor with what stage 2 returned"
        x, skip = self.input_tensor
        x = checkpoint(self.layer3, False, x) if self.recompute else self.layer3(x)
        x = self.upsample(x)  # B, L_fine, C
        x = checkpoint(self.layer4, False, x) if self.recompute else self.layer4(x)
        x = torch.cat([x, skip], dim=-1).unflatten(1, self.grid)  # B, P, Y, X, 2C
        surface = self.patchrecovery2d(x[:, :1]) if self.has_surface else None
        upper_air = self.patchrecovery3d(x[:, 1:] if self.has_surface else x)
        surface, upper_air = gather_levels(surface, upper_air, self.patch_size)
        # onescience: differs  window-parallel ranks
        return torch.cat([surface, upper_air.flatten(1, 2)], dim=1)
