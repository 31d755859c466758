from megatron.training import get_args
from megatron.training.arguments import core_transformer_config_from_args
from torch import nn

from ice.onefuser import OneFuser


class Ice_stage0(nn.Module):
    def __init__(self, dim, megatron_config=None):
        super().__init__()
        if megatron_config is None:
            megatron_config = core_transformer_config_from_args(get_args())
        self.config = megatron_config
        self.first = OneFuser(style="IceDistributedFuser", dim=dim, config=self.config)
        shared = {"dim": dim, "config": self.config}
        self.second = OneFuser(style="IceDistributedFuser", **shared)

    def forward(self, x):
        return self.second(self.first(x))
