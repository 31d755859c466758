import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class SwigluMlp(nn.Module):
    """The fused gate is twice as wide as what the second layer takes, and nobody folds it."""

    def __init__(self, dim, hidden, config):
        super().__init__()
        init = config.init_method
        self.gate_up = ColumnParallelLinear(
            dim, 2 * hidden, config=config, init_method=init, gather_output=False
        )
        self.down = RowParallelLinear(
            hidden, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        hidden, _ = self.gate_up(x)
        return self.down(F.silu(hidden))[0]  # [parallel-linear-width-mismatch]


class Literal(nn.Module):
    def __init__(self, config):
        super().__init__()
        init = config.init_method
        self.up = ColumnParallelLinear(192, 768, config=config, init_method=init, gather_output=True)
        self.mid = ColumnParallelLinear(384, 384, config=config, init_method=init, gather_output=True)

    def forward(self, x):
        return self.mid(self.up(x)[0])[0]  # [parallel-linear-width-mismatch]
