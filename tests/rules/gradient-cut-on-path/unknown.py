from functools import partial

import torch
from torch import nn


class HailDistributedFuser(nn.Module):
    """What it was made from is not here."""

    def forward(self, x):
        x = self.block(x.detach())
        return x


def loss_func(label, output, frozen=False):
    loss = (output - label).abs().mean()
    report = loss.detach() if frozen else loss
    return report, torch.ones(()), {"loss": report}


def forward_step(data_iterator, model):
    batch = next(data_iterator)
    return model(batch[0].float()), partial(loss_func, batch[1].float())
