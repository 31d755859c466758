from functools import partial

import torch


def mean_loss(label, output):
    loss = (output - label).abs().mean()
    return loss, torch.ones((), device=loss.device), {"loss": loss.detach()}  # [loss-return-contract]


def sum_loss(label, output):
    loss = (output - label).abs().sum()
    tokens = torch.tensor(output.shape[0] * 1.0, device=loss.device)
    return loss, tokens, {"loss": loss.detach()}  # [loss-return-contract]


def forward_step(data_iterator, model):
    batch = next(data_iterator)
    return model(batch[0].cuda().float()), partial(mean_loss, batch[1].cuda().float())


def forward_step_sum(data_iterator, model):
    batch = next(data_iterator)
    return model(batch[0].cuda().float()), partial(sum_loss, batch[1].cuda().float())
