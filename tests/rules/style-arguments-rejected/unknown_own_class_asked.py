"""A maker that asks the class for its signature before it builds it, and takes another one where it can."""

import inspect

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Made:
    @classmethod
    def from_config(cls, config, trainer=None):
        made = None
        if "target" in config:
            made = config["target"](cfg=config)
        if made is None:
            if takes_trainer(cls):
                made = cls(cfg=config, trainer=trainer)
            else:
                made = cls(cfg=config)
        return made


def takes_trainer(cls):
    return "trainer" in inspect.signature(cls.__init__).parameters


class Control(nn.Module, Made):
    def __init__(self, cfg, parallel):
        super().__init__()
        self.control = Control.from_config(cfg.stage)
        self.inner = ColumnParallelLinear(cfg.dim, cfg.dim, config=parallel, init_method=parallel.init_method)

    def forward(self, x):
        return self.inner(self.control(x))[0]
