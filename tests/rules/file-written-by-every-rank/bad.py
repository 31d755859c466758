from functools import partial
import torch
from losses import l2_loss
from megatron.core.tensor_parallel import RowParallelLinear
from megatron.training import pretrain


def keep(output, index):
    torch.save(output.cpu(), f"/scratch/{index}.pt")  # [file-written-by-every-rank]


def forward_step(data_iterator, model):
    field, label, index = next(data_iterator)
    output = model(field.float())
    keep(output, index)
    return output, partial(l2_loss, label.float())
