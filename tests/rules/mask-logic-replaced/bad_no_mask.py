import numpy as np
import torch
from torch import nn


class Tide(nn.Module):
    def __init__(self, width, mask_full=None):
        super().__init__()
        self.mask_full = mask_full
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def change_mask(self, full, size):
        full = full[None, None]
        return torch.nn.functional.adaptive_max_pool2d(full, size) > 0

    def forward(self, x):
        mask = None
        if self.mask_full is not None:
            mask = self.change_mask(self.mask_full, x.shape[1:3])
        x = self.first({"x": x, "mask": mask})
        return self.second({"x": x, "mask": mask})


class Tide_stage0(nn.Module):
    def __init__(self, width, mask_full=None, config=None, **kwargs):
        super().__init__()
        self.input_tensor = None
        if mask_full is not None and isinstance(mask_full, str):
            mask_full = torch.tensor(np.load(mask_full))
        self.mask_full = mask_full
        self.first = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def change_mask(self, full, size):
        full = full[None, None]
        return torch.nn.functional.adaptive_avg_pool2d(full, size) > 0  # [mask-logic-replaced]

    def forward(self, x):
        mask = self.change_mask(self.mask_full, x.shape[1:3])  # [mask-logic-replaced]
        return self.first({"x": x, "mask": mask})


class Tide_stage1(nn.Module):
    def __init__(self, width, mask_full=None, config=None, **kwargs):
        super().__init__()
        self.input_tensor = None
        self.second = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        x = self.input_tensor[0]
        mask = None
        return self.second({"x": x, "mask": mask})  # [mask-logic-replaced]
