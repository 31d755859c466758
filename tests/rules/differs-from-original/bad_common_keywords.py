from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear


class Tide(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        return self.up(x)


class TideDistributed(nn.Module):
    def __init__(self, dim, hidden, config):
        super().__init__()
        common = {"config": config, "init_method": config.init_method, "bias": True, "gather_output": True}
        self.up = ColumnParallelLinear(dim, hidden, **common)  # [differs-from-original]

    def forward(self, x):
        return self.up(x)[0]
