from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class PatchMlp(nn.Module):
    def __init__(self, dim, config, drop=0.1):
        super().__init__()
        init = config.init_method
        self.up = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=init, gather_output=True)
        self.act, self.drop = nn.SiLU(), nn.Dropout(drop)
        self.down = RowParallelLinear(
            4 * dim, dim, config=config, init_method=init, bias=True, input_is_parallel=False, skip_bias_add=False
        )

    def forward(self, x):
        hidden, _ = self.up(x)
        hidden = self.drop(self.act(hidden))
        return x + self.down(hidden)[0]  # [redundant-tp-collective]
