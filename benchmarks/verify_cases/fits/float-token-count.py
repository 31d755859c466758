import torch
from case import forward_step
from megatron.training import get_args, pretrain
from torch import nn


class Field(nn.Linear):
    def set_input_tensor(self, input_tensor):
        pass


def model_provider(pre_process=True, post_process=True):
    model = Field(8, 8)
    model.config = get_args()
    return model


def step(data_iterator, model):
    field, label = next(data_iterator)
    return forward_step(iter([{"field": field, "label": label, "area": torch.ones_like(label)}]), model)


pretrain(None, model_provider, None, step)
