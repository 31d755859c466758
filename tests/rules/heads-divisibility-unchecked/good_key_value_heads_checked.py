from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Grouped(nn.Module):
    def __init__(self, dim, heads, kv_heads, config):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        for count in (heads, kv_heads):
            if count % tp:
                raise ValueError("head counts must be multiples of the TP size")
        self.heads = heads // tp
        self.kv_heads = kv_heads // tp
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)

    def forward(self, x):
        return self.q(x)[0].unflatten(-1, (self.heads, -1)), self.kv_heads


class Shrunk(nn.Module):
    def __init__(self, dim, heads, config):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        assert heads % tp == 0
        self.n_heads = heads
        self.n_heads //= tp
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)

    def forward(self, x):
        return self.q(x)[0].unflatten(-1, (self.n_heads, -1))
