from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Skip(nn.Module):  # [module-reimplemented]
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        return x if self.training else x * (1 - self.rate)


class IceDistributedMlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.skip = Skip(0.1)
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, x):
        return self.skip(self.fc(x)[0])
