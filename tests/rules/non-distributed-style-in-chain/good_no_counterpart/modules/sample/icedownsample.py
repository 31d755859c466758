from torch import nn


class IceDownSample(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(4 * dim, 2 * dim)
