from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Grouped(nn.Module):
    """Only the query heads are checked."""

    def __init__(self, dim, heads, kv_heads, config):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        if heads % tp:
            raise ValueError("heads must be a multiple of the TP size")
        self.heads = heads // tp
        self.kv_heads = kv_heads // tp  # [heads-divisibility-unchecked]
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)

    def forward(self, x):
        return self.q(x)[0].unflatten(-1, (self.heads, -1)), self.kv_heads


class Shrunk(nn.Module):
    def __init__(self, dim, heads, config):
        super().__init__()
        self.n_heads = heads
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
        self.n_heads //= parallel_state.get_tensor_model_parallel_world_size()  # [heads-divisibility-unchecked]

    def forward(self, x):
        return self.q(x)[0].unflatten(-1, (self.n_heads, -1))
