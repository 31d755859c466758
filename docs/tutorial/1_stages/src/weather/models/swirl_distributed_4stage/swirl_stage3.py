"""Last stage of Swirl: up-sampling, the fine decoder layer, recovery.

# B batch, Y latitude, X longitude (cyclic), C channel
"""

import torch
from megatron.core.tensor_parallel import checkpoint
from torch import nn

from onescience_check.reference_models.models.pipeline_stage import PipelineStage
from onescience_check.runtime.training import get_args
from onescience_check.runtime.training.arguments import core_transformer_config_from_args

from ...modules.fuser.onefuser import OneFuser


class Swirl_stage3(PipelineStage):
    """Input through set_input_tensor: x (B, Y/2, X/2, 2C) and skip (B, Y, X, C). Output: (B, out_chans, Y, X)."""

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

    def set_input_tensor(self, input_tensor):
        """Take what the previous stage sent; the pipeline schedule calls it before ``forward``."""
        self.input_tensor = input_tensor

    def forward(self, x=None):
        assert self.input_tensor is not None, "no input: call set_input_tensor with what stage 2 returned"
        x, skip = self.input_tensor
        x = self.upsample(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        x = checkpoint(self.layer4, False, x) if self.recompute else self.layer4(x)
        x = torch.cat([x, skip], dim=-1)
        return self.recover(x.permute(0, 3, 1, 2))
