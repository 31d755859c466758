from megatron.core import tensor_parallel
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, sizes, options):
        super().__init__()
        self.qkv = tensor_parallel.ColumnParallelLinear(dim, 3 * dim, **options)
        self.proj = tensor_parallel.RowParallelLinear(*sizes, **options)
