from samples import Resampled
from torch import nn


class Rain_stage0(nn.Module):
    def __init__(self, grid=(90, 180), dim=96, **kwargs):
        super().__init__()
        self.upsample = Resampled(dim=dim, input_resolution=grid)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.upsample(x)


class Rain_stage1(nn.Module):
    def __init__(self, grid=(90, 180), dim=96, **kwargs):
        super().__init__()
        self.head = nn.Linear(dim, dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.head(self.input_tensor[0])
