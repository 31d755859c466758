"""The caller may hand in the heads of one rank, and sizes that do not multiply out to the width are no proof."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class GroupedAttention(nn.Module):
    def __init__(self, dim, num_heads, num_kv_heads, kv_channels, config):
        super().__init__()
        init = config.init_method
        self.num_heads, self.num_kv_heads, self.kv_channels = num_heads, num_kv_heads, kv_channels
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.kv = ColumnParallelLinear(
            dim, config.kv_width, config=config, init_method=init, gather_output=False
        )

    def forward(self, x):
        batch, tokens, _ = x.shape
        q = self.q(x)[0].view(batch, tokens, self.num_heads, self.kv_channels)
        kv = self.kv(x)[0].view(batch, tokens, self.num_kv_heads, 2 * self.kv_channels)
        return q, kv
