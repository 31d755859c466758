import torch
import torch.nn.functional as F
from megatron.core import parallel_state
from megatron.core.tensor_parallel import (
    copy_to_tensor_model_parallel_region,
    gather_from_sequence_parallel_region,
    reduce_from_tensor_model_parallel_region,
    reduce_scatter_to_sequence_parallel_region,
)
from torch import nn


class Low(nn.Module):
    """With the flag on the gather sums the gradients, with it off the copy does."""

    def __init__(self, config, wide):
        super().__init__()
        self.config = config
        ranks = parallel_state.get_tensor_model_parallel_world_size()
        self.a = nn.Parameter(torch.empty(wide // ranks, config.hidden_size))
        self.b = nn.Parameter(torch.empty(config.hidden_size, wide // ranks))
        self.a.tensor_model_parallel = self.b.tensor_model_parallel = True

    def forward(self, x):
        if self.config.sequence_parallel:
            x = gather_from_sequence_parallel_region(x)
        else:
            x = copy_to_tensor_model_parallel_region(x)
        out = F.linear(F.linear(x, self.a), self.b)
        if self.config.sequence_parallel:
            return reduce_scatter_to_sequence_parallel_region(out)
        return reduce_from_tensor_model_parallel_region(out)
