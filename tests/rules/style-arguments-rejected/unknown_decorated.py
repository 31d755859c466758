import functools

from torch import nn


def drop_extra(function):
    @functools.wraps(function)
    def inner(self, dim, **extra):
        return function(self, dim)

    return inner


class Plain(nn.Module):
    @drop_extra
    def __init__(self, dim):
        super().__init__()
        self.dim = dim


class Made(nn.Module):
    def __new__(cls, *args, **kwargs):
        return Plain(*args)

    def __init__(self, dim):
        super().__init__()


_REGISTRY = {"Plain": Plain, "Made": Made}


class Holder(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.one = _REGISTRY["Plain"](dim=dim, config=config)
        self.two = _REGISTRY["Made"](dim, config)
