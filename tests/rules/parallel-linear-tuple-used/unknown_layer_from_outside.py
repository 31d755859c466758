"""What these layers are cannot be seen from here."""

from megatron.core.transformer.spec_utils import build_module
from torch import nn

from weather.registry import make_layer


class SpecMlp(nn.Module):
    def __init__(self, config, submodules):
        super().__init__()
        self.linear_fc1 = build_module(submodules.linear_fc1, config.hidden_size, 4 * config.hidden_size, config=config)
        self.linear_fc2 = submodules.linear_fc2(4 * config.hidden_size, config.hidden_size, config=config)

    def forward(self, x):
        return self.linear_fc2(nn.functional.gelu(self.linear_fc1(x)))


class Injected(nn.Module):
    def __init__(self, fc1, dim):
        super().__init__()
        self.fc1 = fc1
        self.fc2 = make_layer("row_parallel", dim, dim)

    def forward(self, x):
        return self.fc2(self.fc1(x).relu())
