from onescience.distributed.megatron.training import get_args
from onescience.distributed.megatron.training.arguments import core_transformer_config_from_args
from onescience.modules import OneFuser
from torch import nn


class Shoal_stage0(nn.Module):
    def __init__(self, width, config=None, **kwargs):
        super().__init__()
        if config is None:
            self.config = core_transformer_config_from_args(get_args())
        else:
            self.config = config
        self.layer = OneFuser(style="ShoalDistributedFuser", dim=width, config=config)  # [raw-config-forwarded]

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.layer(x)
