import inspect

from torch import nn


class Plain(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim


_FUSER_REGISTRY = {"Plain": Plain}


class OneFuser(nn.Module):
    """Keeps only the keywords that the class takes."""

    def __init__(self, style, **kwargs):
        super().__init__()
        cls = _FUSER_REGISTRY[style]
        known = inspect.signature(cls.__init__).parameters
        self.fuser = cls(**{name: value for name, value in kwargs.items() if name in known})


class Tolerant(nn.Module):
    def __init__(self, dim, options):
        super().__init__()
        self.first = OneFuser(style="Plain", dim=dim, config=None)
        self.second = OneFuser(style="Plain", **options)
        try:
            self.third = _FUSER_REGISTRY["Plain"](dim=dim, depth=2)
        except TypeError:
            self.third = _FUSER_REGISTRY["Plain"](dim=dim)
