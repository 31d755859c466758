from torch import nn


class Block(nn.Module):
    def __init__(self, dim, window_size=(2, 6, 12)):
        super().__init__()
        self.window_size = window_size


class IceFuser(nn.Module):
    def __init__(self, dim, window_size=(2, 6, 12), unused=None):
        super().__init__()
        self.block = Block(dim, window_size)


class IceDistributedFuser(nn.Module):
    """Uses all that the original passes on; what the original leaves unused may stay so."""

    def __init__(self, dim, window_size=(2, 6, 12), unused=None, config=None):
        super().__init__()
        self.block = Block(dim, tuple(window_size))
