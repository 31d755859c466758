from torch import nn


class Layer(nn.Module):
    def __init__(self, dim, depth, num_heads=4):
        super().__init__()
        self.mix = nn.Linear(dim, dim)

    def forward(self, x):
        return self.mix(x)


class River(nn.Module):
    def __init__(self, dim=64, depths=(3, 5)):
        super().__init__()
        self.layers = nn.ModuleList()
        for index in range(len(depths)):
            layer = Layer(dim, depth=depths[index])
            self.layers.append(layer)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class River_stage0(nn.Module):
    def __init__(self, dim=64, depths=(3, 5)):
        super().__init__()
        self.layers = nn.ModuleDict({"0": Layer(dim, depth=depths[0])})

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layers["0"](x)


class River_stage1(nn.Module):
    def __init__(self, dim=64, depths=(3, 5)):
        super().__init__()
        self.layers = nn.ModuleDict({"1": Layer(dim, depth=depths[1])})

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layers["1"](self.input_tensor[0])
