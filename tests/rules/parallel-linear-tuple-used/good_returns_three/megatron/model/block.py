from megatron.core.tensor_parallel import RowParallelLinear
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.dense = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True,
            input_is_parallel=True, skip_bias_add=True,
        )

    def forward(self, x, kept):
        out, bias, kept = self.dense(x, kept)
        return out + bias, kept
