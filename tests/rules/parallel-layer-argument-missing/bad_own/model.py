from layers.tensor_parallel import RowParallelLinear
from torch import nn


class Mlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.one = RowParallelLinear(dim, dim, config=config, init_method=nn.init.zeros_, gather_output=True)  # [parallel-layer-argument-missing]
        self.two = RowParallelLinear(dim, dim, config=config)  # [parallel-layer-argument-missing]
        self.three = RowParallelLinear(dim, dim, config=config, init_method=nn.init.zeros_)
