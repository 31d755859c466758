import torch
from megatron.core.tensor_parallel import gather_from_sequence_parallel_region, scatter_to_sequence_parallel_region
from torch import nn


class Joined(nn.Module):
    """Along the channels the stretches fit, and all tokens may be joined in any way."""

    def __init__(self, config):
        super().__init__()
        self.config = config

    def forward(self, image, text):
        both = torch.cat((image, text), dim=0)
        if self.config.sequence_parallel:
            image = scatter_to_sequence_parallel_region(image)
            text = scatter_to_sequence_parallel_region(text)
            every = gather_from_sequence_parallel_region(image)
            both = torch.cat((every, gather_from_sequence_parallel_region(text)), dim=0)
        return both, torch.cat((image, text), dim=-1)
