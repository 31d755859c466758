from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        assert num_heads % config.tensor_model_parallel_size == 0
        self.num_heads = num_heads
        self.heads_here = num_heads // config.tensor_model_parallel_size
        self.q_proj, self.k_proj, self.v_proj = (
            ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
            for _ in range(3)
        )

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = (
            layer(x)[0].view(batch, tokens, self.num_heads, -1)  # [full-heads-on-sharded-value]
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        return q, k, v


class Unflattened(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        self.num_heads = num_heads
        self.heads_here = num_heads // config.tensor_model_parallel_size
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        q, _ = self.q_proj(x)
        return q.unflatten(-1, (self.num_heads, -1))  # [full-heads-on-sharded-value]
