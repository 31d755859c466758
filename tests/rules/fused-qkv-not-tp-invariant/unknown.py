"""Two parts of an input that may be anything; a plain layer; thirds of the batch."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Misc(nn.Module):
    def __init__(self, dim, parts, config):
        super().__init__()
        self.parts = parts
        self.plain = nn.Linear(dim, 3 * dim)
        self.fc = ColumnParallelLinear(
            dim, 3 * dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        out, _ = self.fc(x)
        return x.chunk(3, dim=-1), self.plain(x).chunk(3, dim=-1), out.chunk(3, dim=0), out.chunk(self.parts, dim=-1)
