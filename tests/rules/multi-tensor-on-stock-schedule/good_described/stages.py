import torch
from megatron.core.transformer.module import MegatronModule
from torch import nn


class UNet_stage0(MegatronModule):
    def __init__(self, width, config):
        super().__init__(config)
        self.input_tensor = None
        self.enter = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        skip = self.enter(x)
        both = (torch.relu(skip), skip)
        return both


class UNet_stage1(UNet_stage0):
    def forward(self, x=None):
        (x, skip) = tuple(self.input_tensor)
        return self.enter(x + skip), skip
