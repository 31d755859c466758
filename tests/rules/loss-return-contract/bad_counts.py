from functools import partial

import torch
from torch.nn import functional as F


def smooth(label, output):
    return F.smooth_l1_loss(output, label)


def divided_twice(label, output):
    loss = smooth(label, output)
    tokens = torch.tensor(output.numel(), device=output.device)
    return loss, tokens, {"loss": torch.stack([loss.detach(), tokens])}  # [loss-return-contract]


def weighted(label, weight, output):
    error = ((output - label).abs() * weight).sum()
    return error, weight.sum(), {"loss": error.detach()}  # [loss-return-contract]


def forward_step(data_iterator, model):
    batch = next(data_iterator)
    return model(batch[0].cuda().float()), partial(divided_twice, batch[1].cuda().float())


def forward_step_weighted(data_iterator, model):
    field, label, weight = None, None, None
    batch = next(data_iterator)
    field, label, weight = batch["field"], batch["label"], batch["weight"].float().cuda()
    return model(field), partial(weighted, label, weight)
