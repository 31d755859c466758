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


def forward_step_with_graph(data_iterator, model):
    batch = next(data_iterator)

    def with_graph(output):
        loss = (output - batch[1]).abs().mean()
        tokens = torch.ones((), dtype=torch.int, device=loss.device)
        report = torch.cat([loss.view(1), tokens.view(1)])  # its line is where it is returned
        return loss, tokens, {"loss": report}  # [loss-return-contract]

    return model(batch[0]), with_graph


def forward_step_without_graph(data_iterator, model):
    batch = next(data_iterator)

    def without_graph(output):
        loss = (output - batch[1]).abs().mean()
        tokens = torch.ones((), dtype=torch.int, device=loss.device)
        with torch.no_grad():
            report = torch.cat([loss.view(1), tokens.view(1)])
        return loss, tokens, {"loss": report}

    return model(batch[0]), without_graph
