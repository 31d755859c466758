from torch import nn


def with_mask(function):
    def inner(self, x, mask):
        return function(self, x * mask)

    return inner


class Decorated(nn.Module):
    @with_mask
    def forward(self, x):
        return x


class Called(nn.Module):
    def __call__(self, x, mask):
        return super().__call__(x * mask)

    def forward(self, x):
        return x


class Replaced(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.forward = function

    def forward(self, x):
        return x


_REGISTRY = {"Decorated": Decorated, "Called": Called, "Replaced": Replaced}


class Block(nn.Module):
    def __init__(self, function, style):
        super().__init__()
        self.one = _REGISTRY["Decorated"]()
        self.two = _REGISTRY["Called"]()
        self.three = _REGISTRY["Replaced"](function)
        self.four = _REGISTRY[style]()

    def forward(self, x, mask):
        x = self.one(x, mask) + self.two(x, mask) + self.three(x, mask)
        try:
            return self.four(x, mask)
        except TypeError:
            return self.four(x)
