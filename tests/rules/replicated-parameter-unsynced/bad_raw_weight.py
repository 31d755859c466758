import torch
import torch.nn.functional as F
from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
from torch import nn


class Gate(nn.Module):
    def __init__(self, config, experts):
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.empty(experts, config.hidden_size))
        self.marked = nn.Parameter(torch.empty(experts, config.hidden_size))
        setattr(self.marked, "sequence_parallel", config.sequence_parallel)

    def forward(self, x):
        if self.config.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
        return F.linear(x, self.weight) + F.linear(x, self.marked)  # [replicated-parameter-unsynced]
