import torch
from megatron.core.tensor_parallel import checkpoint
from megatron.core.transformer.module import MegatronModule
from torch import nn


class Trunk(MegatronModule):
    def __init__(self, width, config=None):
        super().__init__(config)
        self.input_tensor = None
        self.layer = nn.Linear(width, width)

    def set_input_tensor(self, tensor):
        self.input_tensor = tensor

    def forward(self, x):
        x = self.input_tensor if self.input_tensor is not None else x
        return self.layer(x)


class OceanStage(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.block = nn.Linear(width, width)
        self.trunk = Trunk(width, config)

    def set_input_tensor(self, input_tensor):
        self.trunk.set_input_tensor(input_tensor[0])

    def forward(self, x=None):
        return self.trunk(x)
