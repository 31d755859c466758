from torch import nn


class Tide_stage0(nn.Module):
    def __init__(self, width, land_mask=None):
        super().__init__()
        self.land_mask = land_mask
        self.first = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        x = self.first(x)
        return x, self.land_mask  # [stage-passes-mask]


class Tide_stage1(nn.Module):
    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x, land = self.input_tensor
        return x * land
