"""First pipeline stage of Xihe: embedding, the fine block in front, down-sampling.

# B batch, Y latitude, X longitude (cyclic), C channel
# L_fine, L_coarse tokens Y * X of the two grids
"""

import numpy as np
from megatron.core.tensor_parallel import checkpoint

from onescience_check.runtime.training import get_args
from onescience_check.runtime.training.arguments import core_transformer_config_from_args

from ...modules import OneEmbedding, OneFuser, OneSample
from ..pipeline_stage import PipelineStage
from ..xihe.grids import INPUT_CHANNELS, OUTPUT_CHANNELS, token_grids
from ..xihe.mask import change_mask, load_mask


class Xihe_stage0(PipelineStage):
    """Embedding, block 1 and down-sampling.

    Args:
        img_size, patch_size, window_size, embed_dim, num_heads, in_chans, out_chans, mask_full, num_groups, num_local,
            depth_local, drop, attn_drop, drop_path: see Xihe. Each of num_heads is a multiple of the tensor-parallel
            size.
        config: Megatron's TransformerConfig, by default the one that the command line describes. Its
            recompute_granularity "full" recomputes each block in backward instead of keeping activations.
        kwargs: arguments of other stages, ignored.

    Input: (B, in_chans, Y, X). Output: x (B, L_coarse, 2C) and skip (B, L_fine, C).
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

        self.fine, self.coarse = token_grids(img_size, patch_size)
        self.register_buffer("mask_full", load_mask(mask_full, img_size), persistent=False)
        window = (1, *window_size)
        depth1, depth2, depth3, depth4, depth5 = (depth_local * count for count in num_local)
        rates = np.linspace(0, drop_path, depth1 + depth2 + depth3 + depth4 + depth5).tolist()

        self.patchembed2d = OneEmbedding(
            style="PanguEmbedding",
            img_size=img_size,
            patch_size=patch_size,
            variables=in_chans,
            embed_dim=embed_dim,
        )
        self.block1 = OneFuser(
            style="XiheDistributedFuser",
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
            config=config,
        )
        self.downsample = OneSample(
            style="PanguDistributedDownSample",
            input_resolution=self.fine,
            output_resolution=self.coarse,
            in_dim=embed_dim,
            config=config,
        )

    def set_input_tensor(self, input_tensor):
        """Take what the previous stage sent; the pipeline schedule calls it before ``forward``."""
        self.input_tensor = input_tensor

    def run_block1(self, x, mask):
        """The block for ``checkpoint``, which keeps tensors and no dict."""
        return self.block1({"x": x, "mask": mask})

    def forward(self, x):
        mask1 = None
        if self.mask_full is not None:
            mask1 = change_mask(self.mask_full, self.fine)
        x = self.patchembed2d(x)  # B, L_fine, C
        x = checkpoint(self.run_block1, False, x, mask1) if self.recompute else self.run_block1(x, mask1)
        skip = x
        x = self.downsample(x)  # B, L_coarse, 2C
        return x, skip
