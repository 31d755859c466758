from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.widen = nn.Linear(dim, 4 * dim)
        self.narrow = RowParallelLinear(
            4 * dim, dim, config=config, init_method=config.init_method, bias=True,
            input_is_parallel=True, skip_bias_add=False,
        )

    def forward(self, x):
        return self.narrow(self.widen(x))[0]  # [input-is-parallel-mismatch]
