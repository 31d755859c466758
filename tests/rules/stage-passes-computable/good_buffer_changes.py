import torch
from torch import nn


class Ice_stage0(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, dim)
        self.register_buffer("seen", torch.zeros(1))

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        self.seen.add_(x.detach().abs().mean())
        return self.layer(x), self.seen.clone()


class Ice_stage1(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x, seen = self.input_tensor
        return self.layer(x) / seen
