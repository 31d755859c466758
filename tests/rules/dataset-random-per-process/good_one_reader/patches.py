import numpy as np
import torch


class Patches(torch.utils.data.Dataset):
    """Patches of sea-surface temperature."""

    def __init__(self, fields, share):
        self.fields = fields
        self.keep = np.random.rand(len(fields)) < share

    def __getitem__(self, index):
        row = int(torch.randint(0, 128, (1,)))
        return self.fields[index, row : row + 64], self.fields[index + 1, row : row + 64]
