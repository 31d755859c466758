import torch
import torch.distributed as dist
from megatron.core.tensor_parallel import model_parallel_cuda_manual_seed


def start_streams(seed):
    torch.manual_seed(seed)
    model_parallel_cuda_manual_seed(seed)


def seed_training(args):
    start_seed = args.seed + dist.get_rank()
    seeds = start_seed
    seed_all(seeds)  # [seed-of-wrong-axis]


def seed_all(number):
    torch.manual_seed(number)
