from torch import nn


class Block(nn.Module):
    def __init__(self, dim, shift):
        super().__init__()
        self.body = nn.Linear(dim, dim)
        self.shift = shift


class Fuser(nn.Module):
    def __init__(self, dim, depth, num_heads=4, first_block=0):
        super().__init__()
        self.blocks = nn.ModuleDict(
            {
                str(index): Block(dim, shift=3 if (index - first_block) % 2 else 0)
                for index in range(first_block, first_block + depth)
            }
        )


class Net(nn.Module):
    def __init__(self, dim=64, depths=(2, 6)):
        super().__init__()
        self.layer1 = Fuser(dim, depth=depths[0])
        self.layer2 = Fuser(dim, depth=depths[1])

    def forward(self, x):
        return self.layer2(self.layer1(x))


class Net_stage0(nn.Module):
    def __init__(self, dim=64, depths=(2, 6)):
        super().__init__()
        front = (depths[1] - depths[0]) // 2
        self.layer1 = Fuser(dim, depth=depths[0])
        self.layer2 = Fuser(dim, depth=front)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layer2(self.layer1(x))


class Net_stage1(nn.Module):
    def __init__(self, dim=64, depths=(2, 6)):
        super().__init__()
        front = (depths[1] - depths[0]) // 2
        self.layer2 = Fuser(dim, depth=depths[1] - front, first_block=front)  # [block-numbers-restart]

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.layer2(self.input_tensor[0])
