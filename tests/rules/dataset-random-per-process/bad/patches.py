import numpy as np
import torch


class Patches(torch.utils.data.Dataset):
    """Patches of sea-surface temperature."""

    def __init__(self, fields, share):
        self.fields = fields
        self.keep = np.random.rand(len(fields)) < share  # [dataset-random-per-process]

    def __getitem__(self, index):
        row = int(torch.randint(0, 128, (1,)))  # [dataset-random-per-process]
        return self.fields[index, row : row + 64], self.fields[index + 1, row : row + 64]
