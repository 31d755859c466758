import torch
import torch.distributed as dist
from megatron.core import mpu


def _hand_on(label):
    if mpu.is_pipeline_first_stage():
        dist.isend(label, mpu.get_pipeline_model_parallel_last_rank())


def forward_step(data_iterator, model):
    field, label = next(data_iterator)
    _hand_on(label)  # [p2p-in-forward-step]
    if mpu.is_pipeline_last_stage():
        dist.recv(label, mpu.get_pipeline_model_parallel_first_rank())  # [p2p-in-forward-step]
    return model(field), label
