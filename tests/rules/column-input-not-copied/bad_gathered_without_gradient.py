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


class Wide(nn.Module):
    def __init__(self, dim, hidden, config):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        self.config = config
        self.up = nn.Parameter(torch.empty(hidden // tp, dim))
        self.down = nn.Parameter(torch.empty(dim, hidden // tp))
        self.up.tensor_model_parallel = self.down.tensor_model_parallel = True

    def forward(self, x):
        if self.config.sequence_parallel:
            x = gather_from_sequence_parallel_region(x, tensor_parallel_output_grad=False)
        else:
            x = copy_to_tensor_model_parallel_region(x)
        out = F.linear(F.gelu(F.linear(x, self.up)), self.down)  # [column-input-not-copied]
        if self.config.sequence_parallel:
            return reduce_scatter_to_sequence_parallel_region(out)
        return reduce_from_tensor_model_parallel_region(out)
