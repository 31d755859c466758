"""One module of a right tree: its last class."""

import m
from torch import nn


class Case(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        classes = [cls for cls in vars(m).values() if isinstance(cls, type) and cls.__module__ == "m"]
        self.inner = classes[-1](8, config)

    def forward(self, x):
        return self.inner(x)
