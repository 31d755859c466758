from torch import nn


class Widen(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.fc = nn.Linear(in_dim, out_dim)

    def inverse(self, in_dim, out_dim):
        return Widen(out_dim, in_dim)

    def forward(self, x):
        return self.fc(x)


class DistributedBlock(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = Widen(dim, hidden)
        self.down = Widen(hidden, dim)

    def forward(self, x):
        return self.down(self.up(x))
