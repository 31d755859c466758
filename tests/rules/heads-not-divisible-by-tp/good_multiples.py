from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class DistributedAttention(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        tp = config.tensor_model_parallel_size
        assert num_heads % tp == 0
        self.num_heads_per_rank = num_heads // tp
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.q_proj(x)[0].unflatten(-1, (self.num_heads_per_rank, -1))


class Stack(nn.Module):
    def __init__(self, dim=192, num_heads=(8, 16), config=None):
        super().__init__()
        self.first = DistributedAttention(dim, num_heads[0], config)
        self.second = DistributedAttention(dim, 24, config)

    def forward(self, x):
        return self.first(x) + self.second(x)
