from layers import ColumnParallelLinear
from torch import nn


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim)

    def forward(self, x):
        return nn.functional.relu(self.fc(x)) + x
