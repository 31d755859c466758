from functools import partial
import torch
from losses import l2_loss
from megatron.training import pretrain


def keep(output, index):
    torch.save(output.cpu(), f"output/test/{index}.pt")  # [output-folder-missing]


def forward_step(data_iterator, model):
    field, label, index = next(data_iterator)
    output = model(field.float())
    keep(output, index)
    return output, partial(l2_loss, label.float())
