from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Projector(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.pooling = False
        self.layers = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x):
        if self.pooling:
            x = self.pooling_layer(x)
        return self.layers(x)
