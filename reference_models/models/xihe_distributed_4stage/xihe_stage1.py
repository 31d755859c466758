"""Second pipeline stage of Xihe: coarse blocks.

# B batch, Y latitude, X longitude (cyclic), C channel
# L_fine, L_coarse tokens Y * X of the two grids
"""

import numpy as np
from megatron.core.tensor_parallel import checkpoint

from onescience_check.runtime.training import get_args
from onescience_check.runtime.training.arguments import core_transformer_config_from_args

from ...modules import OneFuser
from ..pipeline_stage import PipelineStage
from ..xihe.grids import INPUT_CHANNELS, OUTPUT_CHANNELS, token_grids
from ..xihe.mask import change_mask, load_mask


class Xihe_stage1(PipelineStage):
    """Block 2 and the front half of the local parts of block 3.

    Args:
        img_size, patch_size, window_size, embed_dim, num_heads, in_chans, out_chans, mask_full, num_groups, num_local,
            depth_local, drop, attn_drop, drop_path: see Xihe. Each of num_heads is a multiple of the tensor-parallel
            size.
        config: Megatron's TransformerConfig, by default the one that the command line describes. Its
            recompute_granularity "full" recomputes each block in backward instead of keeping activations.
        kwargs: arguments of other stages, ignored.

    Input through set_input_tensor and output: x (B, L_coarse, 2C) and skip (B, L_fine, C), which passes
    unchanged.
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
        front3 = num_local[2] // 2  # local parts of block 3 that this stage takes, see the package docstring
        before3 = depth1 + depth2  # transformer blocks before block 3
        rates = np.linspace(0, drop_path, depth1 + depth2 + depth3 + depth4 + depth5).tolist()

        self.block2 = OneFuser(
            style="XiheDistributedFuser",
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
            config=config,
        )
        self.block3 = OneFuser(
            style="XiheDistributedFuser",
            dim=2 * embed_dim,
            input_resolution=self.coarse,
            num_local=front3,
            num_global=0,
            num_heads=num_heads[2],
            num_groups=num_groups,
            window_size=window,
            drop_path=rates[before3 : before3 + front3 * depth_local],
            depth_local=depth_local,
            drop=drop,
            attn_drop=attn_drop,
            config=config,
        )

    def set_input_tensor(self, input_tensor):
        """Take what the previous stage sent; the pipeline schedule calls it before ``forward``."""
        self.input_tensor = input_tensor

    def run_block2(self, x, mask):
        """The block for ``checkpoint``, which keeps tensors and no dict."""
        return self.block2({"x": x, "mask": mask})

    def run_block3(self, x, mask):
        """The block for ``checkpoint``, which keeps tensors and no dict."""
        return self.block3({"x": x, "mask": mask})

    def forward(self, x=None):
        assert self.input_tensor is not None, "no input: call set_input_tensor with what stage 0 returned"
        x, skip = self.input_tensor
        mask2 = None
        if self.mask_full is not None:
            mask2 = change_mask(change_mask(self.mask_full, self.fine), self.coarse)
        x = checkpoint(self.run_block2, False, x, mask2) if self.recompute else self.run_block2(x, mask2)
        x = checkpoint(self.run_block3, False, x, mask2) if self.recompute else self.run_block3(x, mask2)
        return x, skip
