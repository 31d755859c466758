from functools import partial

from megatron.training import pretrain
from torch import nn


class Model(nn.Module):
    def __init__(self, post_process):
        super().__init__()
        self.post_process = post_process

    def forward(self, x):
        x = self.body(x)
        if not self.post_process:
            return x
        if self.training:
            return self.upper(x), self.surface(x)
        return self.upper(x), self.surface(x)


def model_provider(pre_process=True, post_process=True):
    model = Model(post_process)
    return model


def loss_func(label, output):
    upper, surface, extra = output  # [loss-output-arity]
    return (upper - label).abs().mean() + surface.mean() + extra, {}


def forward_step(data_iterator, model):
    field, label = next(data_iterator)
    return model(field), partial(loss_func, label)


pretrain(None, model_provider, None, forward_step)
