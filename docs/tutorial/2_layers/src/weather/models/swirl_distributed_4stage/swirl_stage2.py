"""Third stage of Swirl: the coarse decoder layer.

# B batch, Y latitude, X longitude (cyclic), C channel
"""

from megatron.core.tensor_parallel import checkpoint

from onescience_check.reference_models.models.pipeline_stage import PipelineStage
from onescience_check.runtime.training import get_args
from onescience_check.runtime.training.arguments import core_transformer_config_from_args

from ...modules.fuser.onefuser import OneFuser


class Swirl_stage2(PipelineStage):
    """Input through set_input_tensor and output: x (B, Y/2, X/2, 2C) and skip, which passes unchanged."""

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
        coarse = (fine[0] // 2, fine[1] // 2)
        self.layer3 = OneFuser(
            style="SwirlDistributedFuser",
            dim=2 * embed_dim,
            input_resolution=coarse,
            depth=depths[2],
            num_heads=num_heads[2],
            window_size=window_size,
            config=config,
        )

    def set_input_tensor(self, input_tensor):
        """Take what the previous stage sent; the pipeline schedule calls it before ``forward``."""
        self.input_tensor = input_tensor

    def forward(self, x=None):
        assert self.input_tensor is not None, "no input: call set_input_tensor with what stage 1 returned"
        x, skip = self.input_tensor
        x = checkpoint(self.layer3, False, x) if self.recompute else self.layer3(x)
        return x, skip
