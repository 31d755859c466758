from megatron.mpu import ColumnParallelLinear, RowParallelLinear
from torch import nn


class PatchRecoveryDistributed(nn.Module):
    def __init__(self, dim, out):
        super().__init__()
        self.head = ColumnParallelLinear(dim, out)  # [input-is-parallel-implicit]

    def forward(self, x):
        return self.head(x)[0]


class DistributedMlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1 = ColumnParallelLinear(dim, 4 * dim, gather_output=False)
        self.fc2 = RowParallelLinear(4 * dim, dim, init_method=nn.init.xavier_normal_)  # [input-is-parallel-implicit]

    def forward(self, x):
        return self.fc2(self.fc1(x)[0])[0]
