"""Rows of one rank, marked as if every rank held all of them."""

import torch
from megatron.core import parallel_state
from megatron.core.tensor_parallel import set_tensor_model_parallel_attributes
from torch import nn


class Bank(nn.Module):
    def __init__(self, entries, width):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        self.bank = nn.Parameter(torch.empty(entries // tp, width))
        set_tensor_model_parallel_attributes(self.bank, is_parallel=False, dim=0, stride=1)  # [partition-mark-wrong]
        self.norm = nn.Parameter(torch.empty(width))
        set_tensor_model_parallel_attributes(self.norm, is_parallel=False, dim=-1, stride=1)

    def forward(self, x):
        return (x * self.norm) @ self.bank.T
