import torch
from megatron.core.tensor_parallel import gather_from_sequence_parallel_region
from torch import nn


def z_loss(scores):
    return torch.logsumexp(scores, dim=-1).square().mean()


class Gate(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    def forward(self, scores):
        every = scores
        if self.config.sequence_parallel:
            every = gather_from_sequence_parallel_region(scores)  # [sp-gather-grad-of-replicated]
        return scores.topk(2), z_loss(every)
