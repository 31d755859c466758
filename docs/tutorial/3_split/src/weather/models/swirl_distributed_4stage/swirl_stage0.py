"""First stage of Swirl: patches, the fine encoder layer, down-sampling.

# B batch, Y latitude, X longitude (cyclic), C channel
"""

from megatron.core.tensor_parallel import checkpoint
from torch import nn

from onescience_check.reference_models.models.pipeline_stage import PipelineStage
from onescience_check.runtime.training import get_args
from onescience_check.runtime.training.arguments import core_transformer_config_from_args

from ...modules.fuser.onefuser import OneFuser


class Swirl_stage0(PipelineStage):
    """Input: (B, in_chans, Y, X). Output: x (B, Y/2, X/2, 2C) and skip (B, Y, X, C)."""

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

        fine = (img_size[0] // patch_size, img_size[1] // patch_size)
        self.embed = nn.Conv2d(in_chans, embed_dim, patch_size, stride=patch_size)
        self.layer1 = OneFuser(
            style="SwirlDistributedFuser",
            dim=embed_dim,
            input_resolution=fine,
            depth=depths[0],
            num_heads=num_heads[0],
            window_size=window_size,
            config=config,
        )
        self.downsample = nn.Conv2d(embed_dim, 2 * embed_dim, 2, stride=2)

    def set_input_tensor(self, input_tensor):
        """Take what the previous stage sent; the pipeline schedule calls it before ``forward``."""
        self.input_tensor = input_tensor

    def forward(self, x):
        x = self.embed(x).permute(0, 2, 3, 1)  # B, Y, X, C
        x = checkpoint(self.layer1, False, x) if self.recompute else self.layer1(x)
        skip = x
        x = self.downsample(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return x.contiguous(), skip.contiguous()
