from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Query(nn.Module):
    def __init__(self, dim, num_heads, config):
        super().__init__()
        self.heads = num_heads // config.tensor_model_parallel_size  # [heads-divisibility-unchecked]
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.q_proj(x)[0].unflatten(-1, (self.heads, -1))
