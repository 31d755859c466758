from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        y = self.up(self.out(x))[0]
        return x + y + self.out(x)  # [sharded-value-escapes]
