from torch import nn


class Rain(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return self.second(self.first(x))


class Rain_stage0(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        skip = x * 2
        x = self.first(x).half()
        return x, skip  # [boundary-dtype-mismatch]


class Rain_stage1(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.second = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x, skip = self.input_tensor
        return self.second(x) + skip
