from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class HailParallelMerge(nn.Module):  # [distributed-naming]
    def __init__(self, dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=nn.init.zeros_, gather_output=True)

    def forward(self, x):
        return self.fc(x)[0]
