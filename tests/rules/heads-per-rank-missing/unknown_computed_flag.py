"""Whether the projection is split is decided by the caller; the heads of one rank may come from it too."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class DistributedWindowAttention(nn.Module):
    def __init__(self, dim, num_heads, config, gather):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=gather
        )

    def forward(self, x):
        return self.q_proj(x)[0].unflatten(-1, (self.num_heads, -1))
