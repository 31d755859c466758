from flash_attn import flash_attn_func
from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from torch import nn

from kernels import get_rope, pick_backend


class Attention(nn.Module):
    """Only the query says how the output is split: the cache it meets is whole."""

    def __init__(self, dim, config):
        super().__init__()
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
        self.kv = ColumnParallelLinear(dim, 2 * dim, config=config, init_method=config.init_method, gather_output=True)
        self.rotary = get_rope(dim)
        self.backend = pick_backend(config)
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=False,
        )
        self.other = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=False,
        )

    def forward(self, positions, x):
        q = self.q(x)[0]
        k, v = self.kv(x)[0].chunk(2, dim=-1)
        q, k = self.rotary(positions, q, k)
        out = flash_attn_func(q, k, v, causal=True)
        out = self.proj(out.flatten(-2))[0]  # [input-is-parallel-mismatch]
        again = self.backend.attention(query=q, key=k, value=v)
        return out + self.other(again)[0]  # [input-is-parallel-mismatch]
