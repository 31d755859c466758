import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import (
    ColumnParallelLinear,
    RowParallelLinear,
    gather_from_sequence_parallel_region,
    scatter_to_sequence_parallel_region,
)
from torch import nn


class Block(nn.Module):
    """Positions and masks for all tokens inside attention, for one rank's outside of it; with the flag off as well."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.read = ColumnParallelLinear(
            config.hidden_size, config.hidden_size, config=config, init_method=config.init_method, gather_output=False
        )
        self.write = RowParallelLinear(
            config.hidden_size,
            config.hidden_size,
            config=config,
            init_method=config.init_method,
            bias=False,
            input_is_parallel=True,
            skip_bias_add=False,
        )

    def length(self, x):
        if not self.config.sequence_parallel:
            return x.size(0)
        return x.size(0) * parallel_state.get_tensor_model_parallel_world_size()

    def forward(self, x, padding, residual=None):
        own = padding
        if self.config.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
            own = scatter_to_sequence_parallel_region(padding)
        places = torch.arange(self.length(x))[:, None, None].cos()
        q = self.read(x)[0] * places
        q = q.masked_fill(padding, 0.0)
        out = x + self.write(q)[0] * own
        ends = gather_from_sequence_parallel_region(out) if self.config.sequence_parallel else out
        return out, ends[-1]
