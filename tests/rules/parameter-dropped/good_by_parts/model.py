from torch import nn


class Block(nn.Module):
    def __init__(self, dim, window_size=(2, 6, 12), drop=0.0):
        super().__init__()
        self.window_size, self.drop = window_size, drop

    def forward(self, x):
        return x


class IceDistributedFuser(nn.Module):
    def __init__(self, dim, window_size=(2, 6, 12), drop=0.0, config=None):
        super().__init__()
        self.blocks = nn.ModuleList([Block(dim, window_size=window_size) for _ in range(2)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class IceDistributedTrunk(nn.Module):
    def __init__(self, dim, window_size=(2, 6, 12), config=None):
        super().__init__()
        self.fuser = IceDistributedFuser(dim, window_size=window_size, config=config)

    def forward(self, x):
        return self.fuser(x)
