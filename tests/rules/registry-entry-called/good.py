from torch import nn

_FUSER_REGISTRY = {"Linear": nn.Linear, "Identity": (nn.Identity, {})}


class Stage(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = _FUSER_REGISTRY["Linear"](dim, dim)
        cls, options = _FUSER_REGISTRY["Identity"]
        self.same = cls(**options)
