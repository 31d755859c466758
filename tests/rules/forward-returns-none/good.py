from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Probe(nn.Module):
    """Only looks; its caller does not use what it returns."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append(x.shape)


class Gate(nn.Module):
    def __init__(self, dim, config, kind):
        super().__init__()
        self.kind = kind
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, x):
        y, _ = self.fc(x)
        if self.kind == "sigmoid":
            return y.sigmoid() * x
        raise ValueError(self.kind)


class Block(nn.Module):
    def __init__(self, dim, config, kind):
        super().__init__()
        self.probe = Probe()
        self.gate = Gate(dim, config, kind)

    def forward(self, x):
        self.probe(x)
        return x + self.gate(x)


class Grouping(nn.Module):
    """Says by None that there was nothing to group; its callers give a mask."""

    def __init__(self, dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, x, mask):
        if mask is None:
            return None
        y, _ = self.fc(x * mask)
        return y


class Grouped(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.grouping = Grouping(dim, config)

    def forward(self, x, mask):
        return x + self.grouping(x, mask)
