"""Two stages share a block of local and global parts: how many each builds is compared over all stages."""

from torch import nn


class Parts(nn.Module):
    def __init__(self, dim, num_local, num_global):
        super().__init__()
        self.local = nn.ModuleList(nn.Linear(dim, dim) for _ in range(num_local))
        self.everywhere = nn.ModuleList(nn.Linear(dim, dim) for _ in range(num_global))

    def forward(self, x):
        for part in self.local:
            x = part(x)
        for part in self.everywhere:
            x = part(x)
        return x


class Kelp(nn.Module):
    def __init__(self, dim=64, num_local=(4, 4)):
        super().__init__()
        self.block1 = Parts(dim, num_local=num_local[0], num_global=1)

    def forward(self, x):
        return self.block1(x)


class Kelp_stage0(nn.Module):
    def __init__(self, dim=64, num_local=(4, 4), config=None, **kwargs):
        super().__init__()
        self.input_tensor = None
        self.block1 = Parts(dim, num_local=num_local[0] // 2, num_global=0)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.block1(x)


class Kelp_stage1(nn.Module):
    def __init__(self, dim=64, num_local=(4, 4), config=None, **kwargs):
        super().__init__()
        self.input_tensor = None
        self.block1 = Parts(dim, num_local=num_local[0] - num_local[0] // 2, num_global=1)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.block1(self.input_tensor[0])
