from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class IceDistributedMlp(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        self.fc1 = ColumnParallelLinear(dim, dim, config=config, init_method=nn.init.zeros_, gather_output=False)

    def forward(self, x):
        return self.fc1(x)[0]


class IceDistributedBlock(nn.Module):
    def __init__(  # [config-parameter-missing]
        self,
        dim,
        depth,
    ):
        super().__init__()
        self.mlps = nn.ModuleList(IceDistributedMlp(dim) for _ in range(depth))
