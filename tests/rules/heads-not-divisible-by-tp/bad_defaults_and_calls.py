from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class EarthDistributedAttention(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        tp = config.tensor_model_parallel_size
        assert num_heads % tp == 0
        self.num_heads_per_rank = num_heads // tp  # [heads-not-divisible-by-tp]
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.q_proj(x)[0].unflatten(-1, (self.num_heads_per_rank, -1))


class PanguBlocks(nn.Module):
    """Pangu-Weather's own head counts: 6 heads do not split over 4 ranks."""

    def __init__(self, dim=192, num_heads=(6, 12, 12, 6), config=None):
        super().__init__()
        self.layers = nn.ModuleList(
            [EarthDistributedAttention(dim, heads, config) for heads in (num_heads[0], num_heads[1])]
        )

    def forward(self, x):
        return [layer(x) for layer in self.layers]


class Literal(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.tp_size = config.tensor_model_parallel_size
        self.num_heads = 25
        self.heads = self.num_heads // self.tp_size  # [heads-not-divisible-by-tp]
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.q_proj(x)[0]
