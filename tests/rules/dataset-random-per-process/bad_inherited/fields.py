import numpy as np
from torch.utils.data import Dataset


class Fields(Dataset):
    def __init__(self, states):
        self.states = states

    def __len__(self):
        return len(self.states) - 1

    def __getitem__(self, index):
        index = np.random.randint(len(self))  # [dataset-random-per-process]
        return self.model_input(index), self.states[index + 1]

    def model_input(self, index):
        return self.states[index]
