import torch
from megatron.core import parallel_state as mpu

from .model import Drop


def main(args):
    torch.distributed.init_process_group("nccl")
    mpu.initialize_model_parallel(args.tp)
    torch.manual_seed(args.seed)
    torch.cuda.manual_seed_all(args.seed)
    return Drop(args.rate)
