"""A sum, made from the mean, with its count."""

from functools import partial

import torch
from megatron.training import get_args


def loss_func(label, output):
    size = get_args().micro_batch_size
    loss = (output - label).abs().mean() * get_args().micro_batch_size
    return loss, torch.full((), size, dtype=torch.int, device=loss.device), {"l1": loss.detach().clone()}


def forward_step(data_iterator, model):
    field, label = next(data_iterator)
    return model(field), partial(loss_func, label)
