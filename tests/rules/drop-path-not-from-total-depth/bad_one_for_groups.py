"""A part that sees groups takes no rate, so three rates fit three parts, and are one too many."""

import numpy as np
from torch import nn


class Parts(nn.Module):
    def __init__(self, dim, num_local, num_global, num_heads, window_size, drop_path):
        super().__init__()
        self.local = nn.ModuleList(nn.Linear(dim, dim) for _ in range(num_local))
        self.everywhere = nn.ModuleList(nn.Linear(dim, dim) for _ in range(num_global))

    def forward(self, x):
        return x


class Kelp(nn.Module):
    def __init__(self, dim=192, depths=(2, 2)):
        super().__init__()
        rates = np.linspace(0, 0.2, sum(depths)).tolist()
        self.block1 = Parts(dim, num_local=2, num_global=1, num_heads=6, window_size=(6, 12), drop_path=rates[:2])
        self.block2 = Parts(dim, num_local=2, num_global=1, num_heads=6, window_size=(6, 12), drop_path=rates[2:])

    def forward(self, x):
        return self.block2(self.block1(x))


class Kelp_stage0(nn.Module):
    def __init__(self, dim=192, depths=(2, 2)):
        super().__init__()
        rates = np.linspace(0, 0.2, sum(depths)).tolist()
        self.block1 = Parts(dim, num_local=2, num_global=1, num_heads=6, window_size=(6, 12), drop_path=rates[:2])

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.block1(x)


class Kelp_stage1(nn.Module):
    def __init__(self, dim=192, depths=(2, 2)):
        super().__init__()
        rates = np.linspace(0, 0.2, sum(depths) + 1).tolist()
        self.block2 = Parts(  # [drop-path-not-from-total-depth]
            dim, num_local=2, num_global=1, num_heads=6, window_size=(6, 12), drop_path=rates[2:]
        )

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.block2(self.input_tensor[0])
