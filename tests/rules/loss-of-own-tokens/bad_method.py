import torch
from megatron.core.tensor_parallel import reduce_scatter_to_sequence_parallel_region
from torch import nn


class Gate(nn.Module):
    def __init__(self, config, experts):
        super().__init__()
        self.config = config
        self.experts = experts

    def aux_loss(self, scores):
        share = torch.zeros(self.experts).index_fill(0, scores.argmax(dim=-1).flatten(), 1.0)
        return self.experts * (share * scores.flatten(0, 1).mean(dim=0)).sum()

    def forward(self, parts):
        scores = parts
        if self.config.sequence_parallel:
            scores = reduce_scatter_to_sequence_parallel_region(parts)
        scores = torch.softmax(scores, dim=-1)
        return scores, self.aux_loss(scores)  # [loss-of-own-tokens]
