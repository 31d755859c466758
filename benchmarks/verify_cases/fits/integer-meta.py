import inspect

from case import EncoderStage
from torch import nn


class Stage0(EncoderStage):
    def __init__(self, config):
        grid = {"grid": (2, 3, 4)} if "grid" in inspect.signature(EncoderStage.__init__).parameters else {}
        super().__init__(8, config=config, **grid)


class Stage1(nn.Linear):
    def __init__(self, config):
        super().__init__(8, 8)
        self.config = config

    def set_input_tensor(self, tensors):
        self.input_tensor = tensors

    def forward(self, x=None):
        return super().forward(self.input_tensor[0])
