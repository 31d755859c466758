from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Query(nn.Module):
    def __init__(self, dim, num_kv_heads, config, tp_size):
        super().__init__()
        self.kv_heads = (num_kv_heads + tp_size - 1) // tp_size
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.q_proj(x)[0].unflatten(-1, (self.kv_heads, -1))
