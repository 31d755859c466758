from functools import partial
import torch
from losses import l2_loss
from megatron.core import mpu
from megatron.core.tensor_parallel import RowParallelLinear
from megatron.training import pretrain


def keep(output, index):
    torch.save(output.cpu(), f"/scratch/{index}.pt")


def forward_step(data_iterator, model):
    field, label, index = next(data_iterator)
    output = model(field.float())
    if torch.distributed.get_rank() == 0:
        keep(output, index)
    part = mpu.get_tensor_model_parallel_rank()
    torch.save(label.cpu(), f"/scratch/label_{index}_{part}.pt")
    return output, partial(l2_loss, label.float())
