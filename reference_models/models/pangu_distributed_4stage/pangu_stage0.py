"""First pipeline stage of Pangu-Weather: embedding, the fine encoder layer and the start of the coarse one.

# B batch, P pressure level, Y latitude, X longitude (cyclic), C channel
# L_fine, L_coarse tokens P * Y * X of the two grids
"""

import numpy as np
import torch
from megatron.core.tensor_parallel import checkpoint

from onescience_check.runtime.training import get_args
from onescience_check.runtime.training.arguments import core_transformer_config_from_args

from ...modules import OneEmbedding, OneFuser, OneSample
from ...modules.window_parallel import own_part
from ..pangu.grids import CONSTANT_MASKS, PRESSURE_LEVELS, SURFACE_VARIABLES, UPPER_AIR_VARIABLES, token_grids
from ..pipeline_stage import PipelineStage
from .levels import own_pressure_levels


class Pangu_stage0(PipelineStage):
    """Embeddings, layer 1, down-sampling and the first blocks of layer 2.

    Args:
        img_size, patch_size, embed_dim, num_heads, window_size, depths, drop, attn_drop, drop_path: see
            Pangu. Each of num_heads is a multiple of the tensor-parallel size.
        config: Megatron's TransformerConfig, by default the one that the command line describes. Its
            recompute_granularity "full" recomputes each layer in backward instead of keeping activations.
        kwargs: arguments of other stages, ignored.

    Input: (B, 4 surface + 3 masks + 5 x 13 upper air, Y, X). Output: x (B, L_coarse, 2C) and skip (B, L_fine,
    C).
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
        self.has_surface, self.levels = own_pressure_levels(patch_size)
        depth1, depth2, depth3, depth4 = depths
        # Blocks of layer 2 that this stage takes, see the package docstring
        front2 = max(depth2 - depth1, 0) // 2
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
            levels=len(self.levels),  # onescience: differs  window-parallel ranks
            patch_size=patch_size,
            variables=UPPER_AIR_VARIABLES,
            embed_dim=embed_dim,
        )
        self.layer1 = OneFuser(
            style="PanguDistributedFuser",
            dim=embed_dim,
            input_resolution=fine,
            depth=depth1,
            num_heads=num_heads[0],
            window_size=window_size,
            drop=drop,
            attn_drop=attn_drop,
            drop_path=rates[:depth1],
            config=config,
        )
        self.downsample = OneSample(
            style="PanguDistributedDownSample",
            input_resolution=own_part(fine),  # onescience: differs  window-parallel ranks
            output_resolution=own_part(coarse),
            in_dim=embed_dim,
            config=config,
        )
        self.layer2 = OneFuser(
            style="PanguDistributedFuser",
            dim=2 * embed_dim,
            input_resolution=coarse,
            depth=front2,
            num_heads=num_heads[1],
            window_size=window_size,
            drop=drop,
            attn_drop=attn_drop,
            drop_path=rates[depth1 : depth1 + front2],
            config=config,
        )

    def set_input_tensor(self, input_tensor):
        """Take what the previous stage sent; the pipeline schedule calls it before ``forward``."""
        self.input_tensor = input_tensor

    def forward(self, x):
        surface, upper_air = x.split(
            [SURFACE_VARIABLES + CONSTANT_MASKS, UPPER_AIR_VARIABLES * PRESSURE_LEVELS], dim=1
        )
        upper_air = upper_air.unflatten(1, (UPPER_AIR_VARIABLES, PRESSURE_LEVELS))
        x = self.patchembed3d(upper_air[:, :, self.levels.start : self.levels.stop])
        if self.has_surface:
            x = torch.cat([self.patchembed2d(surface), x], dim=1)  # B, L_fine, C
        x = checkpoint(self.layer1, False, x) if self.recompute else self.layer1(x)
        skip = x
        x = self.downsample(x)  # B, L_coarse, 2C
        x = checkpoint(self.layer2, False, x) if self.recompute else self.layer2(x)
        return x, skip
