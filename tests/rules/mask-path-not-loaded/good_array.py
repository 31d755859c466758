import numpy as np
import torch
from torch import nn


class Tide_stage1(nn.Module):
    def __init__(self, width, mask_full=None, config=None, **kwargs):
        super().__init__()
        self.input_tensor = None
        if isinstance(mask_full, str):
            mask_full = torch.from_numpy(np.load(mask_full))
        self.mask_full = mask_full
        self.second = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x = self.input_tensor[0]
        land = self.mask_full.to(x.device)
        return self.second(x * land)
