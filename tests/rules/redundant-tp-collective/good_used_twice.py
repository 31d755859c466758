"""The gathered value is needed whole by something else too."""

from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class SkipMlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.up = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=True)
        self.down = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=False, skip_bias_add=False
        )

    def forward(self, x):
        hidden, _ = self.up(x)
        out, _ = self.down(hidden.relu())
        return out, hidden
