import math

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Query(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        size = config.tensor_model_parallel_size
        self.heads = math.ceil(num_heads / size)
        self.q_proj = ColumnParallelLinear(
            dim, self.heads * size * 64, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.q_proj(x)[0].unflatten(-1, (self.heads, -1))
