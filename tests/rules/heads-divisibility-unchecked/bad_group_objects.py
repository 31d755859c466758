from megatron.core.tensor_parallel import ColumnParallelLinear
from megatron.core.utils import get_pg_size
from torch import nn


class Query(nn.Module):
    def __init__(self, dim, num_heads, config, tp_group):
        super().__init__()
        self.heads = num_heads // get_pg_size(tp_group)  # [heads-divisibility-unchecked]
        self.q_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False, tp_group=tp_group
        )

    def forward(self, x):
        return self.q_proj(x)[0].unflatten(-1, (self.heads, -1))


class Key(nn.Module):
    def __init__(self, dim, num_heads, config, pg_collection):
        super().__init__()
        self.pg_collection = pg_collection
        self.heads = num_heads // self.pg_collection.tp.size()  # [heads-divisibility-unchecked]
        self.k_proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x):
        return self.k_proj(x)[0].unflatten(-1, (self.heads, -1))
