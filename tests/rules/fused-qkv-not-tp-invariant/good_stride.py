"""With stride=3 each rank holds its share of q, then of k, then of v, at every tp size."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.qkv = ColumnParallelLinear(
            dim, 3 * dim, config=config, init_method=config.init_method, gather_output=False, stride=3
        )

    def forward(self, x):
        qkv, _ = self.qkv(x)
        q, k, v = qkv.chunk(3, dim=-1)
        return q, k, v
