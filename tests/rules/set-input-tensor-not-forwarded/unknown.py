import torch
from megatron.core.tensor_parallel import checkpoint
from megatron.core.transformer.module import MegatronModule
from torch import nn
from elsewhere.layers import build_trunk


class OceanStage(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.block = nn.Linear(width, width)
        self.trunk = build_trunk(width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.trunk(x)
