from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class FengwuDistributedAttention(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        world = parallel_state.get_tensor_model_parallel_world_size()
        assert num_heads % world == 0
        self.local = num_heads // world
        self.to_qkv = ColumnParallelLinear(
            dim, 3 * dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.to_qkv(x)[0].unflatten(-1, (self.local, 3, -1))


class GatheredDistributedAttention(nn.Module):
    """Every rank computes all heads, on gathered projections."""

    def __init__(self, dim, num_heads, config):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=True
        )

    def forward(self, x):
        return self.q_proj(x)[0].unflatten(-1, (self.num_heads, -1))
