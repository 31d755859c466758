import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
from torch import nn


def load_balancing_loss(probs, chosen):
    counts = chosen.float().sum(dim=0)
    dist.all_reduce(counts, group=parallel_state.get_tensor_model_parallel_group())
    return (counts * probs.sum(dim=0)).sum()


class Router(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config

    def forward(self, x):
        if self.config.sequence_parallel:
            x = scatter_to_sequence_parallel_region(x)
        probs = torch.softmax(x, dim=-1)
        return load_balancing_loss(probs, probs > 0.5)
