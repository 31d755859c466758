from functools import partial
from counting import ones
from torch import nn


def loss_func(target, output):
    loss = nn.MSELoss()(output, target)
    return loss, ones(target), {"l2": loss.detach()}


def forward_step(data_iterator, model):
    field, target = next(data_iterator)
    return model(field), partial(loss_func, target)
