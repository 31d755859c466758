from torch import nn

_MLP_REGISTRY = {"Linear": nn.Linear}
_OPEN_REGISTRY = {"Linear": nn.Linear}
_OPEN_REGISTRY["Late"] = nn.Identity


def register(name):
    def add(cls):
        _OPEN_REGISTRY[name] = cls
        return cls

    return add


class OneMlp(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.mlp = _OPEN_REGISTRY[style](**kwargs)


class Block(nn.Module):
    def __init__(self, style, dim):
        super().__init__()
        self.given = OneMlp(style=style)
        self.added = OneMlp(style="Late")
        try:
            self.optional = _MLP_REGISTRY["Fused"](dim, dim)
        except KeyError:
            self.optional = _MLP_REGISTRY["Linear"](dim, dim)
        self.fallback = _MLP_REGISTRY.get("Fused", nn.Linear)(dim, dim)
