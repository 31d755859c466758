from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Gate(nn.Module):
    def __init__(self, dim, config, kind, wide):
        super().__init__()
        self.kind, self.wide = kind, wide
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, x):
        y, _ = self.fc(x)
        if self.kind == "sigmoid":
            return y.sigmoid() * x
        elif self.wide > 2:
            return y * x


class Block(nn.Module):
    def __init__(self, dim, config, kind, wide):
        super().__init__()
        self.gate = Gate(dim, config, kind, wide)

    def forward(self, x):
        out = self.gate(x)
        return x if out is None else x + out
