import torch
from megatron.core import mpu
from torch.utils.data import DataLoader, Dataset


class Flow(Dataset):
    def __init__(self, cube):
        self.fields, self.targets = [], []
        self._load(cube)

    def _load(self, cube):
        for field, target in cube:
            field, target = self._noisy(field, target)
            self.fields.append(field)
            self.targets.append(target)

    @staticmethod
    def _noisy(field, target):
        noise = torch.normal(0.0, 0.1, field.shape)  # [dataset-random-per-process]
        return field + noise, target - noise

    def __getitem__(self, index):
        return self.fields[index], self.targets[index]


class Pipe:
    def __init__(self, cube):
        self.loader = DataLoader(Flow(cube))


def prepare(seed):
    torch.manual_seed(seed)


def read(iterator):
    field, label = next(iterator)
    return (field if mpu.is_pipeline_first_stage() else None), (label if mpu.is_pipeline_last_stage() else None)
