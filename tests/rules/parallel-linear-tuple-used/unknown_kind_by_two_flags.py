"""The layer is parallel under one flag, and the output is taken under another that cannot be compared with it."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Projection(nn.Module):
    def __init__(self, dim, config, parallel, returns_pair):
        super().__init__()
        self.returns_pair = returns_pair
        if parallel:
            self.fc = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=True
            )
        else:
            self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        y = self.fc(x)
        if self.returns_pair:
            y = y[0]
        return y.relu()
