from onescience.distributed.megatron.training import get_args
from onescience.distributed.megatron.training.arguments import core_transformer_config_from_args
from onescience.modules import OneFuser
from torch import nn


class ShoalStage(nn.Module):
    def __init__(self, config=None):
        super().__init__()
        if config is None:
            config = core_transformer_config_from_args(get_args())
        self.config = config

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor


class Shoal_stage0(ShoalStage):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.layer = OneFuser(style="ShoalDistributedFuser", dim=width, config=config)  # [raw-config-forwarded]

    def forward(self, x):
        return self.layer(x)
