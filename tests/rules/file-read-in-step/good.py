from functools import lru_cache, partial
import json
import torch
from megatron.training import pretrain

_kept = {}


@lru_cache
def level_weights(path):
    with open(path) as file:
        return torch.tensor(json.load(file))


def scale():
    if "scale" not in _kept:
        _kept["scale"] = torch.load("scale.pt")
    return _kept["scale"]


def loss_func(label, output):
    loss = ((output - label).abs() * level_weights("weights.json").to(output.device)).mean()
    return loss, {"l1": loss.detach()}


def forward_step(data_iterator, model):
    field, label = next(data_iterator)
    return model(field.float() * scale()), partial(loss_func, label.float())
