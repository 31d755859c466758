"""A mean times the samples of the micro-batch, with the count of one mean."""

from functools import partial

import torch
from megatron.training import get_args


def weighted(output, label):
    return (output - label).abs().mean()


def loss_func(label, output):
    loss = weighted(output, label) * get_args().micro_batch_size  # [loss-scaled-wrongly]
    return loss, torch.ones((), dtype=torch.int, device=loss.device), {"l1": loss.detach().clone()}


def forward_step(data_iterator, model):
    field, label = next(data_iterator)
    return model(field), partial(loss_func, label)
