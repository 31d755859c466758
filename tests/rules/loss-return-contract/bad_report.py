"""A report with its count in front, and a count of zero."""

from functools import partial

import torch
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

SHAPES = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 8]]])


def turned(label, output):
    loss = (output - label).abs().mean()
    tokens = torch.ones((), dtype=torch.int, device=loss.device)
    report = torch.cat([tokens.view(1), loss.clone().detach().view(1)])  # [loss-return-contract]
    return loss, tokens, {"loss": report}


def forward_step(data_iterator, model):
    batch = next(data_iterator)
    return model(batch[0]), partial(turned, batch[1])


def zero(label, output):
    loss = (output - label).abs().mean()
    tokens = torch.zeros((), dtype=torch.int, device=loss.device)
    report = torch.cat([loss.clone().detach().view(1), tokens.view(1)])
    return loss, tokens, {"loss": report}  # [loss-return-contract]


def forward_step_of_zero(data_iterator, model):
    batch = next(data_iterator)
    return model(batch[0]), partial(zero, batch[1])


def apart(label, output):
    loss = (output - label).abs().mean()
    tokens = torch.ones((), dtype=torch.int)  # [loss-return-contract]
    report = torch.cat([loss.clone().detach().view(1), tokens.view(1)])
    return loss, tokens, {"loss": report}


def forward_step_apart(data_iterator, model):
    batch = next(data_iterator)
    return model(batch[0]), partial(apart, batch[1])
