from torch import nn


class DistributedHeads(nn.Module):
    def __init__(self, make, dim, depth):
        super().__init__()
        self.layers = [make(dim) for _ in range(depth)]
        self.spare = [nn.Linear(dim, dim)]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
