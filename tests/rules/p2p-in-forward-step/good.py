import torch
import torch.distributed as dist
from megatron.core import mpu


def forward_step(data_iterator, model):
    field, label = next(data_iterator)
    dist.broadcast(label, mpu.get_tensor_model_parallel_src_rank(), group=mpu.get_tensor_model_parallel_group())
    return model(field), label


def hand_over(tensor):
    dist.send(tensor, mpu.get_pipeline_model_parallel_next_rank())
