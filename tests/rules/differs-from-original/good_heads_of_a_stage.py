"""The heads of a stage are compared by a rule of their own."""

import torch
from megatron.core.tensor_parallel import checkpoint
from megatron.core.transformer.module import MegatronModule
from torch import nn


class Layer(nn.Module):
    def __init__(self, dim, depth, num_heads=6, window_size=(2, 6, 12), input_resolution=(8, 181, 360), drop_path=0.0):
        super().__init__()
        self.mix = nn.Linear(dim, dim)

    def forward(self, x):
        return self.mix(x)


class Ocean(nn.Module):
    def __init__(self, dim=192, depths=(2, 6, 6, 2)):
        super().__init__()
        self.layer1 = Layer(dim, depth=2, drop_path=0.0)
        self.layer2 = Layer(dim, depth=6, drop_path=0.0, num_heads=12)

    def forward(self, x):
        return self.layer2(self.layer1(x))


class Ocean_stage0(nn.Module):
    def __init__(self, dim=192, depths=(2, 6, 6, 2)):
        super().__init__()
        self.layer1 = Layer(dim, depth=2, drop_path=0.0)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layer1(x)


class Ocean_stage1(nn.Module):
    def __init__(self, dim=192, depths=(2, 6, 6, 2)):
        super().__init__()
        self.layer2 = Layer(dim, depth=6, drop_path=0.0, num_heads=6)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layer2(self.input_tensor[0])
