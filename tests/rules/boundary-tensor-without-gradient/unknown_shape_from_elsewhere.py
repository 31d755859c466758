from megatron.core.transformer.module import MegatronModule
from torch import nn

from ocean.front import front_of


class Drift_stage0(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.front = front_of(width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.front(x)


class Drift_stage1(MegatronModule):
    def __init__(self, width, config=None, **kwargs):
        super().__init__(config)
        self.block = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x, grid_shape = self.input_tensor
        return self.block(x).reshape(int(grid_shape[0]), -1)
