"""Attention that is not tensor-parallel at all, and one with small plain layers beside its projections."""

from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn


class PlainAttention(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, num_heads)
        self.q_proj, self.k_proj, self.v_proj = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        return self.attn(self.q_proj(x), self.k_proj(x), self.v_proj(x))[0]


class EarthDistributedAttention(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        init = config.init_method
        assert num_heads % config.tensor_model_parallel_size == 0
        self.heads_per_rank = num_heads // config.tensor_model_parallel_size
        self.relative_position = nn.Linear(3, self.heads_per_rank)
        self.q_proj = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.k_proj = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.v_proj = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=init, bias=True, input_is_parallel=True, skip_bias_add=False
        )

    def forward(self, x):
        q, k, v = self.q_proj(x)[0], self.k_proj(x)[0], self.v_proj(x)[0]
        return self.proj(nn.functional.scaled_dot_product_attention(q, k, v))[0]
