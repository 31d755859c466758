from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class IceDistributedFuser(nn.Module):
    def __init__(self, dim, depth=2, config=None):
        super().__init__()
        self.up = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=nn.init.zeros_, gather_output=False)
        self.down = RowParallelLinear(
            4 * dim, dim, config=config, init_method=nn.init.zeros_, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        y, _ = self.down(self.up(x)[0])
        return x + y
