from functools import partial

import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import (
    ColumnParallelLinear,
    RowParallelLinear,
    gather_from_tensor_model_parallel_region,
)
from megatron.core.utils import split_tensor_along_last_dim
from torch import nn


class Attention(nn.Module):
    """The norm needs the whole query; then each rank takes its part again."""

    def __init__(self, dim, config):
        super().__init__()
        self.tp = parallel_state.get_tensor_model_parallel_world_size()
        self.rank = parallel_state.get_tensor_model_parallel_rank()
        self.q = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)
        self.q_norm = nn.RMSNorm(dim) if config.qk_norm else None
        self.k_norm = nn.RMSNorm(dim) if config.qk_norm else None
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=False,
            skip_bias_add=False,
        )

    def normed(self, q, k):
        if self.tp > 1:
            q = gather_from_tensor_model_parallel_region(q.contiguous())
            k = gather_from_tensor_model_parallel_region(k.contiguous())
        q = self.q_norm(q)
        k = self.k_norm(k)
        if self.tp > 1:
            splitter = partial(split_tensor_along_last_dim, num_partitions=self.tp)
            q = splitter(q)[self.rank]
            k = splitter(k)[self.rank]
        return q, k

    def forward(self, x):
        q, k = self.q(x)[0], self.q(x)[0]
        if self.q_norm is not None and self.k_norm is not None:
            q, k = self.normed(q, k)
        return self.proj(torch.tanh(q * k))[0]  # [input-is-parallel-mismatch]
