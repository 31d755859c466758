from functools import partial

import torch
from torch import nn


class RainFuser(nn.Module):
    def forward(self, x):
        target = x.detach()
        return x + (self.code(x) - target).detach()


class RainDistributedFuser(nn.Module):
    def forward(self, x):
        x = self.code(x.detach()) + x
        return x


class HailFuser(nn.Module):
    def forward(self, x):
        return self.block(x)


class HailDistributedFuser(nn.Module):
    def forward(self, x):
        scale = x.detach().abs().amax()
        if not self.training:
            x = x.detach()
        return self.block(x) / scale


_REGISTRY = {
    "RainFuser": RainFuser,
    "RainDistributedFuser": RainDistributedFuser,
    "HailFuser": HailFuser,
    "HailDistributedFuser": HailDistributedFuser,
}


def loss_func(label, output):
    loss = (output - label).abs().mean()
    return loss, torch.ones(()), {"loss": loss.detach()}


def forward_step(data_iterator, model):
    batch = next(data_iterator)
    with torch.no_grad():
        label = batch[1].float()
    return model(batch[0].float()), partial(loss_func, label)


@torch.no_grad()
def forward_step_eval(data_iterator, model):
    return model(next(data_iterator)[0].float()), None
