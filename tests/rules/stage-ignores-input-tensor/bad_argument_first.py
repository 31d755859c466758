from torch import nn


class Tide_stage0(nn.Module):
    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return x * 2


class Tide_stage1(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.input_tensor = None
        self.layer = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        state = x if x is not None else self.input_tensor[0]  # [stage-ignores-input-tensor]
        return self.layer(state)
