"""A small model of two stages that breaks each of our rules once."""

from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn

from .base import Stage


class Mlp(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.up = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=False)
        self.down = RowParallelLinear(
            4 * dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        hidden, _ = self.up(x)
        out, _ = self.down(nn.functional.gelu(hidden))
        return out


class Vortex_stage0(Stage):
    def __init__(self, dim, config):
        super().__init__()
        self.mlp = Mlp(dim, config)
        self.wide = ColumnParallelLinear(  # [column-gathered]
            dim, dim, config=config, init_method=config.init_method, gather_output=True
        )

    def forward(self, x):
        wide, _ = self.wide(self.mlp(x))
        return wide


class Vortex_stage1(nn.Module):  # [stage-without-base]
    def __init__(self, dim, config):
        super().__init__()
        init = config.init_method
        self.up = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.head = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        hidden, _ = self.up(self.input_tensor)
        out, _ = self.head(hidden)  # [head-given-split]
        return out
