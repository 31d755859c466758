"""Made from a whole layer or, without one, from a config: one of the two is given."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class ShallowDistributedMlp(nn.Module):
    def __init__(self, config=None, whole=None, parallel=None):
        super().__init__()
        if whole is None:
            width = config.hidden_size
        else:
            width = whole.in_features
        self.fc = ColumnParallelLinear(width, width, config=parallel, init_method=parallel.init_method)

    def forward(self, x):
        return self.fc(x)[0]
