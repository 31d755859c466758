"""What a class takes is asked of its signature before it is built."""

import inspect

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class NewMlp(nn.Module):
    def __init__(self, dim, whole_config):
        super().__init__()
        config = whole_config.model
        self.fc = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=True
        )

    def forward(self, x):
        return self.fc(x)[0]


def built(cls, dim, whole_config):
    taken = [parameter.name for parameter in inspect.signature(cls.__init__).parameters.values()]
    if "whole_config" in taken:
        return cls(dim=dim, whole_config=whole_config)
    options = {"dim": dim}
    if "config" in taken:
        options["config"] = whole_config.model
    return cls(**options)


class Model(nn.Module):
    def __init__(self, dim, whole_config):
        super().__init__()
        self.mlp = built(cls=NewMlp, dim=dim, whole_config=whole_config)

    def forward(self, x):
        return self.mlp(x)
