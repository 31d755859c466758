"""A group of its own may be that of the experts; a layer that may not reduce."""

from megatron.core.tensor_parallel import (
    RowParallelLinear,
    gather_from_tensor_model_parallel_region,
    reduce_from_tensor_model_parallel_region,
)
from torch import nn


class Joined(nn.Module):
    def __init__(self, dim, config, group):
        super().__init__()
        self.group = group
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        out, _ = self.proj(x)
        return gather_from_tensor_model_parallel_region(out, group=self.group)


class Switched(nn.Module):
    """The layer's own sum may be switched off from outside."""

    def __init__(self, dim, config):
        super().__init__()
        self.proj = RowParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, input_is_parallel=True,
            skip_bias_add=False,
        )
        if config.overlap:
            for layer in [self.proj]:
                layer.explicit_expert_comm = True

    def forward(self, x):
        out, _ = self.proj(x)
        return reduce_from_tensor_model_parallel_region(out)
