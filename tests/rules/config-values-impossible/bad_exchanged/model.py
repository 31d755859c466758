from megatron.core.tensor_parallel import checkpoint
from torch import nn


class Dunlin(nn.Module):
    def __init__(self, img_size=(48, 96), dim=96):
        super().__init__()
        self.layer = nn.Linear(dim, dim)
        self.img_size = img_size

    def forward(self, x):
        return self.layer(x)


class Dunlin_stage0(nn.Module):
    def __init__(self, img_size=(48, 96), dim=96, config=None, **kwargs):
        super().__init__()
        self.input_tensor = None
        self.layer = nn.Linear(dim, dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return (checkpoint(self.layer, False, x),)


class Dunlin_stage1(nn.Module):
    def __init__(self, img_size=(48, 96), dim=96, config=None, **kwargs):
        super().__init__()
        self.input_tensor = None

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.input_tensor[0]
