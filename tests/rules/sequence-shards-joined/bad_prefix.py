import torch
from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
from torch import nn


class Prefixed(nn.Module):
    def __init__(self, config, length):
        super().__init__()
        self.sequence_parallel = config.sequence_parallel
        self.prefix = nn.Parameter(torch.zeros(length, 1, config.hidden_size))

    def forward(self, words):
        prefix = self.prefix.expand(-1, words.shape[1], -1)
        if self.sequence_parallel:
            prefix, words = scatter_to_sequence_parallel_region(prefix), scatter_to_sequence_parallel_region(words)
        return torch.cat([prefix, words])  # [sequence-shards-joined]
