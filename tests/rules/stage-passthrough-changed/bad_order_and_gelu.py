import torch
from torch import nn


class Tide(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        x = self.first(x)
        skip = x
        x = torch.nn.functional.gelu(self.second(x))
        return self.third(x) + skip


class Tide_stage0(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        x = self.first(x)
        return x, x.clone()


class Tide_stage1(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.second = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x, skip = self.input_tensor
        x = torch.nn.functional.gelu(self.second(x))
        skip = torch.relu(skip) * 0.5
        return x, skip  # [stage-passthrough-changed]


class Tide_stage2(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.third = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x, skip = self.input_tensor
        x = self.third(x)
        return skip, x  # [stage-passthrough-changed]


class Tide_stage3(nn.Module):
    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x, skip = self.input_tensor
        return x + skip
