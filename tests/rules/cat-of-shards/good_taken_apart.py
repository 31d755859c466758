"""Shards that travel side by side and are taken apart again before the row layer."""

import torch
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
        self.k = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
        self.v = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        qkv = torch.cat([self.q(x)[0], self.k(x)[0], self.v(x)[0]], dim=-1)
        q, k, v = torch.cat(qkv.chunk(3, dim=-1)).chunk(3)
        return self.proj(F.scaled_dot_product_attention(q, k, v))[0]
