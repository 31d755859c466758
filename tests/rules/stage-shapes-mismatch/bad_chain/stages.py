from fusers import Fuser
from torch import nn


class Kelp_stage0(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer1 = Fuser(dim=dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return (self.layer1(x),)


class Kelp_stage1(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer2 = Fuser(dim=dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return (self.layer2(self.input_tensor[0]),)


class Kelp_stage2(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer3 = Fuser(dim=dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layer3(self.input_tensor[0])
