# `super(Base, self)` steps over Base: what runs is the constructor behind it.
from torch import nn


class Root(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)


class Base(Root):
    def __init__(self, width, depth):
        super().__init__(width)
        self.depth = depth


class Shallow(Base):
    def __init__(self, width):
        super(Base, self).__init__(width=width)


_FUSER_REGISTRY = {"Shallow": Shallow}


class OneFuser(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.fuser = _FUSER_REGISTRY[style](**kwargs)


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fuser = OneFuser(style="Shallow", width=width)
