from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.inner = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x):
        return self.inner(x)[0] @ self.kv_cache
