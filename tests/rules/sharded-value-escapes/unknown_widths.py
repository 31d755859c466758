"""The sizes of the consumers are numbers of their own; a channel slice is no longer on the split dimension."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Decoder(nn.Module):
    def __init__(self, dim, inner, local_dim, config):
        super().__init__()
        self.fc = ColumnParallelLinear(
            dim, inner, config=config, init_method=config.init_method, gather_output=False
        )
        self.norm = nn.LayerNorm(local_dim)
        self.pool = nn.Linear(dim, dim)

    def forward(self, x):
        hidden, _ = self.fc(x)
        return self.norm(hidden), self.pool(hidden.transpose(1, 2))
