"""Said at every place, or left out where the other layer of the block makes it plain."""

from megatron.mpu import ColumnParallelLinear, RowParallelLinear
from torch import nn


class DistributedMlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1 = ColumnParallelLinear(dim, 4 * dim)
        self.fc2 = RowParallelLinear(4 * dim, dim, input_is_parallel=False)

    def forward(self, x):
        return self.fc2(self.fc1(x)[0])[0]
