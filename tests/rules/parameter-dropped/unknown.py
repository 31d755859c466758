from torch import nn


class Block(nn.Module):
    def __init__(self, dim, window_size=(2, 6, 12)):
        super().__init__()
        self.window_size = window_size


class SnowDistributedFuser(nn.Module):
    """There is no original to compare with."""

    def __init__(self, dim, window_size=(2, 6, 12), config=None):
        super().__init__()
        self.block = Block(dim)


class IceFuser(nn.Module):
    def __init__(self, dim, window_size=(2, 6, 12)):
        super().__init__()
        self.block = Block(dim, window_size)


class IceDistributedFuser(nn.Module):
    def __init__(self, dim, window_size=(2, 6, 12), config=None):
        super().__init__()
        given = {name: value for name, value in locals().items() if name in ("dim", "window_size")}
        self.block = Block(**given)
