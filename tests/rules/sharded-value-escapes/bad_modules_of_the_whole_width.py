from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class NormInTheMiddle(nn.Module):
    """A LayerNorm between the two halves of an MLP, sized for the hidden width."""

    def __init__(self, dim, config):
        super().__init__()
        self.hidden = 4 * dim
        self.fc1 = ColumnParallelLinear(
            dim, self.hidden, config=config, init_method=config.init_method, gather_output=False
        )
        self.norm = nn.LayerNorm(self.hidden)

    def forward(self, x):
        x, _ = self.fc1(x)
        return self.norm(nn.functional.gelu(x))  # [sharded-value-escapes]


class ForecastHead(nn.Module):
    def __init__(self, dim, variables, config):
        super().__init__()
        self.up = ColumnParallelLinear(dim, 2 * dim, config=config, init_method=config.init_method)
        self.down = nn.Sequential(nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * dim, variables))

    def forward(self, x):
        hidden = self.up(x)[0]
        return self.down(hidden)  # [sharded-value-escapes]


class TwoColumns(nn.Module):
    """The output of a column layer, still split, goes into another column layer."""

    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.fc1 = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.fc2 = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=True)

    def forward(self, x):
        x, _ = self.fc1(x)
        return self.fc2(x.relu())[0]  # [sharded-value-escapes]
