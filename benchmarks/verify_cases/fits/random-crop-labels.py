import torch
from case import CropDataset
from megatron.training import get_args, pretrain
from torch import nn


class Field(nn.Linear):
    def set_input_tensor(self, input_tensor):
        pass


def datasets(samples):
    return CropDataset(torch.arange(6400.0).view(4, 200, 8), 2), None, None


def model_provider(pre_process=True, post_process=True):
    model = Field(8, 8)
    model.config = get_args()
    return model


def step(data_iterator, model):
    field, _ = next(data_iterator)
    return model(field), lambda output: (output.square().mean(), torch.tensor(1), {})


pretrain(datasets, model_provider, None, step)
