"""Second pipeline stage of Pangu-Weather: the rest of the coarse encoder layer.

# B batch, P pressure level, Y latitude, X longitude (cyclic), C channel
# L_fine, L_coarse tokens P * Y * X of the two grids
"""

import numpy as np
from megatron.core.tensor_parallel import checkpoint

from onescience_check.runtime.training import get_args
from onescience_check.runtime.training.arguments import core_transformer_config_from_args

from ...modules import OneFuser
from ..pangu.grids import token_grids
from ..pipeline_stage import PipelineStage


class Pangu_stage1(PipelineStage):
    """The remaining blocks of layer 2.

    Args:
        img_size, patch_size, embed_dim, num_heads, window_size, depths, drop, attn_drop, drop_path: see
            Pangu. Each of num_heads is a multiple of the tensor-parallel size.
        config: Megatron's TransformerConfig, by default the one that the command line describes. Its
            recompute_granularity "full" recomputes each layer in backward instead of keeping activations.
        kwargs: arguments of other stages, ignored.

    Input through set_input_tensor and output: x (B, L_coarse, 2C) and skip (B, L_fine, C), which passes
    unchanged.
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

        _, coarse = token_grids(img_size, patch_size)
        depth1, depth2, depth3, depth4 = depths
        # Blocks of layer 2 that stage 0 has, see the package docstring
        front2 = max(depth2 - depth1, 0) // 2
        rates = np.linspace(0, drop_path, depth1 + depth2 + depth3 + depth4).tolist()

        self.layer2 = OneFuser(
            style="PanguDistributedFuser",
            dim=2 * embed_dim,
            input_resolution=coarse,
            depth=depth2 - front2,
            num_heads=num_heads[1],
            window_size=window_size,
            drop=drop,
            attn_drop=attn_drop,
            drop_path=rates[depth1 + front2 : depth1 + depth2],
            first_block=front2,
            config=config,
        )

    def set_input_tensor(self, input_tensor):
        """Take what the previous stage sent; the pipeline schedule calls it before ``forward``."""
        self.input_tensor = input_tensor

    def forward(self, x=None):
        assert self.input_tensor is not None, "no input: call set_input_tensor with what stage 0 returned"
        x, skip = self.input_tensor
        x = checkpoint(self.layer2, False, x) if self.recompute else self.layer2(x)
        return x, skip
