from contextlib import nullcontext

from megatron.core import tensor_parallel
from torch import nn
from torch.nn import functional as F


class Leave(nn.Module):
    """Forked where each rank has tokens of its own, and only there."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.down = tensor_parallel.RowParallelLinear(
            config.ffn_hidden_size,
            config.hidden_size,
            config=config,
            init_method=config.init_method,
            bias=False,
            input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, hidden):
        out, _ = self.down(hidden)
        if self.config.sequence_parallel:
            with tensor_parallel.get_cuda_rng_tracker().fork():
                return F.dropout(out, 0.1)
        return F.dropout(out, 0.1)
