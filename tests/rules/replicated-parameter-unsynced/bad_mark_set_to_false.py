import torch
import torch.nn.functional as F
from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
from torch import nn


class Router(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.empty(8, config.hidden_size))
        setattr(self.weight, "sequence_parallel", False)

    def forward(self, x):
        if self.config.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
        return F.linear(x, self.weight)  # [replicated-parameter-unsynced]
