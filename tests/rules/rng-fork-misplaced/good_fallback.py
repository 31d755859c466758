"""Where there is no generator to fork, the same dropout runs without one."""

from elsewhere import checkpointing
from megatron.core.tensor_parallel import ColumnParallelLinear, get_cuda_rng_tracker
from torch import nn
from torch.nn import functional as F


class Widen(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.up = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=False)

    def forward(self, x):
        hidden, _ = self.up(x)
        if checkpointing.is_configured():
            with get_cuda_rng_tracker().fork():
                hidden = F.dropout(hidden, 0.1)
        else:
            hidden = F.dropout(hidden, 0.1)
        return hidden
