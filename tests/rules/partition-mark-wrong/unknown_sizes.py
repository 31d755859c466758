import torch
from megatron.core.tensor_parallel import set_tensor_model_parallel_attributes
from torch import nn


class Bank(nn.Module):
    """The caller may give the sizes of one rank."""

    def __init__(self, entries, width, hidden_per_partition):
        super().__init__()
        self.bank = nn.Parameter(torch.empty(entries, width))
        set_tensor_model_parallel_attributes(self.bank, True, 0, 1)
        self.other = nn.Parameter(torch.empty(hidden_per_partition, width))
        set_tensor_model_parallel_attributes(self.other, True, 1, 1)
        set_tensor_model_parallel_attributes(nn.Parameter(torch.empty(*width)), True, 1, 1)

    def forward(self, x):
        return x @ self.bank
