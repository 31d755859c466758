from megatron.core import tensor_parallel
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.qkv = tensor_parallel.ColumnParallelLinear(dim, 3 * dim, config, gather_output=False)  # [parallel-layer-argument-missing]
        self.proj = tensor_parallel.RowParallelLinear(dim, dim, config=config, init_method=config.init_method, bias=True)  # [parallel-layer-argument-missing]
