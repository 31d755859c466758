from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class GridAttention(nn.Module):
    def __init__(self, dim, num_heads, kv_heads, config):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        init = config.init_method
        self.local_heads = num_heads // tp  # [heads-divisibility-unchecked]
        self.local_kv_heads = int(kv_heads / tp)  # [heads-divisibility-unchecked]
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=init, gather_output=False)
        self.kv = ColumnParallelLinear(dim, 2 * dim, config=config, init_method=init, gather_output=False)

    def forward(self, x):
        return self.q(x)[0], self.kv(x)[0]
