from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class DistributedAttention(nn.Module):
    """Six heads, run on one, two or three ranks."""

    def __init__(self, dim, config, num_heads=6):
        super().__init__()
        tp = config.tensor_model_parallel_size
        assert num_heads % tp == 0
        self.num_heads_per_rank = num_heads // tp
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.q_proj(x)[0].unflatten(-1, (self.num_heads_per_rank, -1))
