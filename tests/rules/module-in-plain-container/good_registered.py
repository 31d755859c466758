from torch import nn


class DistributedHeads(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        layers = [nn.Linear(dim, dim) for _ in range(depth)]
        self.layers = nn.Sequential(*layers)
        self.more = [nn.Linear(dim, dim) for _ in range(depth)]
        self.more = nn.ModuleList(self.more)
        self.sizes = [dim for _ in range(depth)]

    def forward(self, x):
        for layer in self.more:
            x = layer(x)
        return self.layers(x) * len(self.sizes)
