from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class FeedForward(nn.Module):
    """Returns what its last layer returns."""

    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.up = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=False)
        self.down = RowParallelLinear(
            4 * dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        hidden, _ = self.up(x)
        return self.down(nn.functional.silu(hidden))
