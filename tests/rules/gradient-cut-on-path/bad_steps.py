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
