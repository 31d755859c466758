from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class Plain(nn.Module):
    has_rows = False

    def forward(self, x):
        return x


class Mixer(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.inner = Plain()
        self.out = RowParallelLinear(
            dim,
            dim,
            config=config,
            init_method=config.init_method,
            bias=True,
            input_is_parallel=False,
            skip_bias_add=False,
        )

    def forward(self, x, rows=None):
        if rows is not None:
            assert self.inner.has_rows, "this grid has no rows"
            return self.out(self.inner(x, rows))[0]
        return self.out(self.inner(x))[0]
