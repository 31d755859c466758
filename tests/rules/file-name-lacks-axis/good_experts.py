import torch
from megatron.core import mpu


def save(model, folder):
    expert, stage = mpu.get_expert_model_parallel_rank(), mpu.get_pipeline_model_parallel_rank()
    if mpu.get_expert_data_parallel_rank() == 0:
        torch.save(model.state_dict(), f"{folder}/experts{expert}_{stage}.pt")


def split(width):
    return width // mpu.get_tensor_model_parallel_world_size()
