"""The norm between the two layers needs the whole width."""

from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class NormMlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.up = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=True)
        self.norm = nn.LayerNorm(4 * dim)
        self.down = RowParallelLinear(
            4 * dim, dim, config=config, init_method=init, bias=True, input_is_parallel=False, skip_bias_add=False
        )

    def forward(self, x):
        hidden, _ = self.up(x)
        return self.down(self.norm(hidden))[0]
