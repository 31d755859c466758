import torch
import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class SwigluMlp(nn.Module):
    def __init__(self, dim, hidden, num_heads, config):
        super().__init__()
        init = config.init_method
        self.width = num_heads * (dim // num_heads)
        self.gate_up = ColumnParallelLinear(
            dim, 2 * hidden, config=config, init_method=init, gather_output=False
        )
        self.down = RowParallelLinear(
            hidden, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )
        self.wide = ColumnParallelLinear(2 * dim, dim, config=config, init_method=init, gather_output=True)
        self.same = ColumnParallelLinear(self.width, dim, config=config, init_method=init, gather_output=True)

    def forward(self, x):
        gate, up = self.gate_up(x)[0].chunk(2, dim=-1)
        out, _ = self.down(F.silu(gate) * up)
        both, _ = self.wide(torch.cat([out, out], dim=-1))
        return self.same(both)[0]
