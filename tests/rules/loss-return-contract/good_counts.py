from functools import partial

import torch
from torch.nn import functional as F


def smooth(label, output):
    return F.smooth_l1_loss(output, label, reduction="sum")


def divided_once(label, output):
    loss = smooth(label, output)
    tokens = torch.tensor(output.numel(), device=output.device)
    return loss, tokens, {"loss": torch.stack([loss.detach(), tokens])}


def weighted(label, weight, output):
    error = ((output - label).abs() * weight).sum()
    return error, weight.sum().int(), {"loss": error.detach()}


def forward_step(data_iterator, model):
    batch = next(data_iterator)
    return model(batch[0].cuda().float()), partial(divided_once, batch[1].cuda().float())


def forward_step_weighted(data_iterator, model):
    batch = next(data_iterator)
    weight = batch["weight"].cuda().float()
    return model(batch["field"]), partial(weighted, batch["label"], weight)
