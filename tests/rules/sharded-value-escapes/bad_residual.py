from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class ResidualGate(nn.Module):
    """A split value added to what nn.Linear returns."""

    def __init__(self, dim, config):
        super().__init__()
        self.embed = nn.Linear(dim, dim)
        self.fc = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        shortcut = self.embed(x)
        out, _ = self.fc(shortcut)
        return shortcut + out  # [sharded-value-escapes]
