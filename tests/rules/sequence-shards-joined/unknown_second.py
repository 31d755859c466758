import torch
from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
from torch import nn


class Joined(nn.Module):
    """What the other part holds is not known."""

    def __init__(self, config):
        super().__init__()
        self.config = config

    def forward(self, image, text):
        if self.config.sequence_parallel:
            image = scatter_to_sequence_parallel_region(image)
        return torch.cat((image, text), dim=0)
