from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Model(nn.Module):
    def __init__(self, dim, num_heads, tp_size, config):
        super().__init__()
        self.num_heads, self.tp_size = num_heads, tp_size
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        heads = self.num_heads // self.tp_size
        return self.q_proj(x)[0].unflatten(-1, (heads, -1))
