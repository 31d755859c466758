from torch import nn

from .rates import Skip


class IceMlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.skip = Skip(0.1)
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return self.skip(self.fc(x))
