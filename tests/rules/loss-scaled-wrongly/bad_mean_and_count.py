from functools import partial
import torch
from torch import nn


def loss_func(target, nodes, output):
    criterion = nn.MSELoss()
    loss = criterion(output, target)  # [loss-scaled-wrongly]
    count = torch.tensor(nodes, dtype=torch.long, device=output.device)
    return loss, count, {"l2": torch.stack([loss.detach() * count, count])}


def forward_step(data_iterator, model):
    field, target = next(data_iterator)
    return model(field), partial(loss_func, target, field.shape[0])
