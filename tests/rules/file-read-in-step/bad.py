from functools import partial
import json
import torch
from megatron.training import pretrain


def level_weights(path):
    with open(path) as file:  # [file-read-in-step]
        return torch.tensor(json.load(file))


def loss_func(label, output):
    weights = level_weights("weights.json").to(output.device)
    loss = ((output - label).abs() * weights).mean()
    return loss, {"l1": loss.detach()}


def forward_step(data_iterator, model):
    field, label = next(data_iterator)
    return model(field.float()), partial(loss_func, label.float())
