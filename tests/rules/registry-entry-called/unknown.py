from torch import nn

from somewhere import REGISTRY

_LOCAL_REGISTRY = {"Linear": nn.Linear, "Lazy": ("pkg.lazy", "Lazy")}


class Stage(nn.Module):
    def __init__(self, dim, style):
        super().__init__()
        self.one = REGISTRY[style](dim)
        self.two = _LOCAL_REGISTRY[style](dim, dim)
