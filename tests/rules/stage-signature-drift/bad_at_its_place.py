from torch import nn


class Tide(nn.Module):
    def __init__(self, img_size=(721, 1440), width=192, depth=6):
        super().__init__()

    def forward(self, x):
        return x


class Tide_stage0(nn.Module):
    def __init__(self, img_size=(721, 1440), features=192, depth=6, config=None, **kwargs):  # [stage-signature-drift]
        super().__init__()
        self.input_tensor = None

    def forward(self, x):
        return x


class Tide_stage1(nn.Module):
    def __init__(self, img_size=(721, 1440), width=192, extra=1, depth=6, config=None, **kwargs):
        super().__init__()
        self.input_tensor = None

    def forward(self, x=None):
        return self.input_tensor[0]
