"""Code that was written anew cannot be aligned with its original."""

import torch
from torch import nn
from torch.nn import functional as F

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear


class TideAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = torch.softmax(q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5, dim=-1)
        return self.proj((scores @ v).transpose(1, 2).reshape(b, n, c))


class TideDistributedAttention(nn.Module):
    def __init__(self, dim, heads, config=None):
        super().__init__()
        tp = config.tensor_model_parallel_size
        if heads % tp:
            raise ValueError("heads must be a multiple of the tensor-parallel size")
        self.local_heads = heads // tp
        given = dict(config=config, init_method=config.init_method, bias=True)
        self.q_proj = ColumnParallelLinear(dim, dim, gather_output=False, **given)
        self.k_proj = ColumnParallelLinear(dim, dim, gather_output=False, **given)
        self.v_proj = ColumnParallelLinear(dim, dim, gather_output=False, **given)
        self.proj = RowParallelLinear(dim, dim, input_is_parallel=True, **given)

    def forward(self, x):
        b, n, _ = x.shape
        parts = (self.q_proj(x)[0], self.k_proj(x)[0], self.v_proj(x)[0])
        q, k, v = (part.view(b, n, self.local_heads, -1).transpose(1, 2) for part in parts)
        out = F.scaled_dot_product_attention(q, k, v)
        return self.proj(out.transpose(1, 2).flatten(2))[0]
