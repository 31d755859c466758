from torch import nn


class Fuser(nn.Module):
    def __init__(self, dim, num_local=1, num_global=1, num_heads=4, window_size=(2, 6, 12)):
        super().__init__()
        self.body = nn.Linear(dim, dim)

    def forward(self, x):
        return self.body(x)


class Net(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.layer1 = Fuser(dim, num_local=2)
        self.layer2 = Fuser(dim, num_local=2)

    def forward(self, x):
        return self.layer2(self.layer1(x))


class Net_stage0(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.layer1 = Fuser(dim, num_local=2)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layer1(x)


class Net_stage1(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.layer2 = Fuser(dim, num_local=2, num_global=0)  # [depth-differs-from-original]

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layer2(self.input_tensor[0])
