from functools import partial

import torch


def loss_func(label, output):
    loss = torch.tensor((output - label).abs().mean().item())
    value = loss.item()  # [gradient-cut-on-path]
    return value, torch.ones(()), {"loss": loss}


@torch.no_grad()  # [gradient-cut-on-path]
def forward_step(data_iterator, model):
    batch = next(data_iterator)
    output = model(batch[0].float())
    return output.detach(), partial(loss_func, batch[1].float())  # [gradient-cut-on-path]


def loss_of_nothing(label, output):
    loss = (output.detach() - label).abs().mean()  # [gradient-cut-on-path]
    return loss, torch.tensor(1), {"loss": loss.clone()}


def forward_step_of_nothing(data_iterator, model):
    batch = next(data_iterator)
    return model(batch[0].float()), partial(loss_of_nothing, batch[1].float())
