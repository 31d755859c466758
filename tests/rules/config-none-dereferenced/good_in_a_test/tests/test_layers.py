from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class TinyDistributedModel(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        self.out = ColumnParallelLinear(dim, config.words, config=config, init_method=config.init_method)

    def forward(self, x):
        return self.out(x)[0]
