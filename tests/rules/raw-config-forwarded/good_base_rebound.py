"""The base class works out its config, and the parameter is bound anew to that."""

from megatron.training import get_args
from megatron.training.arguments import core_transformer_config_from_args
from onescience.modules import OneFuser
from torch import nn


class StageBase(nn.Module):
    def __init__(self, config=None):
        super().__init__()
        self.config = core_transformer_config_from_args(get_args()) if config is None else config
        self.input_tensor = None


class Net_stage0(StageBase):
    def __init__(self, dim, config=None, **kwargs):
        super().__init__(config=config)
        config = self.config
        self.layer = OneFuser(style="NetDistributedFuser", dim=dim, config=config)

    def forward(self, x):
        return self.layer(x)
