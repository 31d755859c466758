import torch
from torch import nn


class Tide(nn.Module):
    def __init__(self, width, mask_full=None):
        super().__init__()
        self.mask_full = mask_full
        self.first = nn.Linear(width, width)

    def change_mask(self, full, size):
        full = full[None, None]
        return torch.nn.functional.adaptive_max_pool2d(full, size) > 0

    def forward(self, x):
        mask = None
        if self.mask_full is not None:
            mask = self.change_mask(self.mask_full, x.shape[1:3])
        return self.first({"x": x, "mask": mask})


class Tide_stage0(nn.Module):
    def __init__(self, width, mask_full=None, config=None, **kwargs):
        super().__init__()
        self.input_tensor = None
        self.mask_full = mask_full
        self.first = nn.Linear(width, width)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def change_mask(self, full, size):
        full = full[None, None]
        return torch.nn.functional.adaptive_max_pool2d(full, output_size=size) > 0.0

    def masked(self, x):
        return {"x": x, "mask": self.change_mask(self.mask_full, x.shape[1:3])}

    def forward(self, x):
        return self.first(self.masked(x) if self.mask_full is not None else {"x": x, "mask": None})
