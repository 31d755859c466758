"""What a row-parallel layer returns is summed already."""

from megatron.core.tensor_parallel import (
    RowParallelLinear,
    gather_from_tensor_model_parallel_region,
    reduce_from_tensor_model_parallel_region,
)
from torch import nn


class Out(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True,
            skip_bias_add=False,
        )


class Summed(Out):
    def forward(self, x):
        out, _ = self.proj(x)
        return reduce_from_tensor_model_parallel_region(out)  # [reduced-twice]


class Joined(Out):
    def forward(self, x):
        out, _ = self.proj(x)
        return gather_from_tensor_model_parallel_region(out)  # [reduced-twice]
