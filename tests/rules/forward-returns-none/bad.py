from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Gate(nn.Module):
    def __init__(self, dim, config, use_gate):
        super().__init__()
        self.use_gate = use_gate
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, x):
        y, _ = self.fc(x)
        if self.use_gate:
            return y.sigmoid() * x


class Block(nn.Module):
    def __init__(self, dim, config, use_gate):
        super().__init__()
        self.gate = Gate(dim, config, use_gate)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.norm(self.gate(x))  # [forward-returns-none]


class Recorder(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)

    def forward(self, x):
        self.last, _ = self.fc(x)
        return None


class Recorded(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.recorder = Recorder(dim, config)

    def forward(self, x):
        return x + self.recorder(x)  # [forward-returns-none]
