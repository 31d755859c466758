import torch
from megatron.core import parallel_state as mpu


def seed(number):
    torch.manual_seed(number + mpu.get_pipeline_model_parallel_rank())


def start(tp):
    torch.distributed.init_process_group("nccl")
    mpu.initialize_model_parallel(tensor_model_parallel_size=tp)


def main():
    start(2)
    seed(1)
