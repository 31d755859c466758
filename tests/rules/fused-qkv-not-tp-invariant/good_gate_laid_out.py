import torch.nn.functional as F
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class Gated(nn.Module):
    """The checkpoint knows that the halves of each rank are a gate and a value."""

    def __init__(self, config):
        super().__init__()
        self.both = ColumnParallelLinear(
            config.hidden_size,
            2 * config.ffn_hidden_size,
            config=config,
            init_method=config.init_method,
            gather_output=False,
        )

    def forward(self, x):
        gate, value = self.both(x)[0].chunk(2, dim=-1)
        return F.gelu(gate) * value

    def sharded_state_dict(self, prefix="", sharded_offsets=(), metadata=None):
        return {f"{prefix}both.weight": self.both.weight.chunk(2)}
