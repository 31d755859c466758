from torch import nn


class PanguDistributedBias(nn.Module):
    """A side smaller than the largest TP size cannot be split."""

    def __init__(self, dim):
        super().__init__()
        self.gate = nn.Linear(dim, 1)
        self.position = nn.Linear(3, dim)

    def forward(self, x, coordinates):
        return self.gate(x) * self.position(coordinates)


class PanguFuser(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, 4 * dim)

    def forward(self, x):
        return self.fc(x)
