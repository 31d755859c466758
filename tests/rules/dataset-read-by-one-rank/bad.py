from functools import partial
import torch
from losses import l2_loss
from megatron.core import mpu
from megatron.training import pretrain


def datasets(sizes):
    return list(range(1000)), None, None


def read(iterator):
    rank = mpu.get_tensor_model_parallel_rank()
    if rank != 0:
        field = torch.empty(2, 4, device="cuda")
    else:
        field = next(iterator).cuda()
    torch.distributed.broadcast(
        field, mpu.get_tensor_model_parallel_src_rank(), group=mpu.get_tensor_model_parallel_group()
    )
    return field


def forward_step(data_iterator, model):
    field = read(data_iterator)
    return model(field), partial(l2_loss, field)


if __name__ == "__main__":
    datasets.is_distributed = True  # [dataset-read-by-one-rank]
    pretrain(datasets, None, None, forward_step)
