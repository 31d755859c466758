"""Between layers that are tensor_parallel."""

import torch
from torch import nn


class ScaleNorm(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(config.hidden_size, dtype=config.params_dtype))

    def forward(self, x):
        values = x.float()
        values = values / values.norm(dim=-1, keepdim=True)
        return self.weight * values  # [norm-result-not-cast]
