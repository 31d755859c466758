"""The original takes the end of a ramp over its first half; the stages make a ramp over all blocks, and take its end."""

import numpy as np
from torch import nn


class Layer(nn.Module):
    def __init__(self, dim, depth, num_heads=6, window_size=(2, 6, 12), input_resolution=(8, 181, 360), drop_path=0.0):
        super().__init__()
        self.mix = nn.Linear(dim, dim)

    def forward(self, x):
        return self.mix(x)


class Fjord(nn.Module):
    def __init__(self, dim=192):
        super().__init__()
        rates = np.linspace(0, 0.2, 8).tolist()
        self.layer1 = Layer(dim, depth=2, drop_path=rates[:2])
        self.layer2 = Layer(dim, depth=6, drop_path=rates[2:])

    def forward(self, x):
        return self.layer2(self.layer1(x))


class Fjord_stage0(nn.Module):
    def __init__(self, dim=192):
        super().__init__()
        rates = np.linspace(0, 0.2, 16).tolist()
        self.layer1 = Layer(dim, depth=2, drop_path=rates[:2])  # [drop-path-not-from-total-depth]

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layer1(x)


class Fjord_stage1(nn.Module):
    def __init__(self, dim=192):
        super().__init__()
        rates = np.linspace(0, 0.2, 16).tolist()
        self.layer2 = Layer(dim, depth=6, drop_path=rates[-6:])  # [drop-path-not-from-total-depth]

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layer2(self.input_tensor[0])
