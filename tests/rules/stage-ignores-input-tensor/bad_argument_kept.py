import torch
from torch import nn


class Ice_stage0(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.layer(x), x * 2


class Ice_stage1(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None, skip=None):
        if x is None:  # [stage-ignores-input-tensor]
            x, skip = tuple(self.input_tensor)
        return self.layer(x) + skip
