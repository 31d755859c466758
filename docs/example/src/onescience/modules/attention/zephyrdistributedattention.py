"""Attention inside a window, its heads split over tensor-parallel ranks."""

from torch import nn
from torch.nn import functional as F

from onescience.distributed.megatron.core.parallel_state import get_tensor_model_parallel_world_size
from onescience.distributed.megatron.core.tensor_parallel.layers import ColumnParallelLinear, RowParallelLinear


class ZephyrDistributedAttention(nn.Module):
    """Multi-head attention: each rank computes `num_heads // tp` heads."""

    def __init__(self, dim: int, num_heads: int, config=None, **kwargs):
        super().__init__()
        if config is None:
            raise ValueError("ZephyrDistributedAttention needs the Megatron config")
        tp = get_tensor_model_parallel_world_size()
        if num_heads % tp:
            raise ValueError(f"{num_heads} heads do not divide over {tp} ranks")
        self.local_heads = num_heads // tp
        self.head_dim = dim // num_heads
        options = dict(config=config, init_method=config.init_method, bias=True, skip_bias_add=False)
        self.q = ColumnParallelLinear(dim, dim, gather_output=False, **options)
        self.k = ColumnParallelLinear(dim, dim, gather_output=False, **options)
        self.v = ColumnParallelLinear(dim, dim, gather_output=False, **options)
        self.proj = RowParallelLinear(dim, dim, input_is_parallel=False, **options)

    def forward(self, x):
        batch, tokens, _ = x.shape
        shape = (batch, tokens, self.local_heads, self.head_dim)
        q, k, v = (layer(x)[0].view(shape).transpose(1, 2) for layer in (self.q, self.k, self.v))
        x = F.scaled_dot_product_attention(q, k, v)
        x = x.transpose(1, 2).reshape(batch, tokens, -1)
        x, _ = self.proj(x)
        return x
