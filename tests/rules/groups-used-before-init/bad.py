import torch
from megatron.core import parallel_state as mpu


def seed(number):
    offset = 100 * mpu.get_pipeline_model_parallel_rank()
    torch.manual_seed(number + offset)


def start(tp):
    torch.distributed.init_process_group("nccl")
    mpu.initialize_model_parallel(tensor_model_parallel_size=tp)


def main():
    seed(1)  # [groups-used-before-init]
    start(2)
