from functools import partial

import torch
import torch.distributed as dist
from losses import l2_loss
from megatron.core import mpu
from megatron.core.pipeline_parallel import get_forward_backward_func


def shared(tensor):
    dist.broadcast(
        tensor, mpu.get_tensor_model_parallel_src_rank(), group=mpu.get_tensor_model_parallel_group()
    )
    return tensor


def forward_step(data_iterator, model):
    if mpu.get_tensor_model_parallel_rank() == 0:
        field, label = next(data_iterator)
    else:
        field, label = torch.empty(4, 8), torch.empty(4, 8)
    field, label = shared(field), shared(label)
    return model(field), partial(l2_loss, label)


def train(model, data_iterator):
    return get_forward_backward_func()(
        forward_step_func=forward_step, data_iterator=data_iterator, model=model, num_microbatches=1
    )
