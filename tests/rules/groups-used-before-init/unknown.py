"""What is asked under a test may not be asked, and a job may start twice."""

import torch
from megatron.core import parallel_state as mpu


def seed(number):
    if mpu.model_parallel_is_initialized():
        number += mpu.get_pipeline_model_parallel_rank()
    torch.manual_seed(number)


def again():
    for size in (1, 2):
        seed(mpu.get_pipeline_model_parallel_rank())
        mpu.initialize_model_parallel(tensor_model_parallel_size=size)


def main():
    seed(1)
    mpu.initialize_model_parallel(tensor_model_parallel_size=2)


def copied(tp):
    """The groups of an earlier call are there."""
    before = mpu.get_tensor_model_parallel_world_size()
    mpu.destroy_model_parallel()
    mpu.initialize_model_parallel(tensor_model_parallel_size=tp)
    return before
