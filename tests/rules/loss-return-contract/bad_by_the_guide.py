from functools import partial

import torch
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

SHAPES = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 64, 8]]])


def forward_step(data_iterator, model):
    batch = next(data_iterator)

    def two(output):
        loss = (output - batch[1]).abs().mean()
        return loss, {"loss": loss.detach()}  # [loss-return-contract]

    return model(batch[0]), two


def forward_step_alone(data_iterator, model):
    batch = next(data_iterator)

    def alone(output):
        loss = (output - batch[1]).abs().mean()
        tokens = torch.ones((), dtype=torch.int, device=loss.device)
        report = loss.clone().detach()
        return loss, tokens, {"a": report, "b": loss.item()}  # [loss-return-contract, loss-return-contract]

    return model(batch[0]), partial(alone)
