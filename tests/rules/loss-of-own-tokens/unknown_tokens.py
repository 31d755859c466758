import torch
from megatron.core.tensor_parallel import gather_from_sequence_parallel_region
from torch import nn


def load_balancing_loss(probs):
    return probs.mean(dim=0).pow(2).sum()


class Router(nn.Module):
    """Nothing says which tokens come in."""

    def __init__(self, config):
        super().__init__()
        self.config = config

    def forward(self, x):
        probs = torch.softmax(x, dim=-1)
        loss = load_balancing_loss(probs)
        if self.config.sequence_parallel:
            probs = gather_from_sequence_parallel_region(probs)
        return probs, loss
