import random

import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps
from megatron.core.tensor_parallel import model_parallel_cuda_manual_seed
from torch.utils.data import Sampler


def seed_everything(seed):
    seed = seed + 100 * ps.get_pipeline_model_parallel_rank()
    seed = seed + ps.get_tensor_model_parallel_rank()
    random.seed(seed)
    torch.manual_seed(seed)  # [seed-of-wrong-axis]
    model_parallel_cuda_manual_seed(seed)


def seed_of_process(seed):
    torch.manual_seed(seed + dist.get_rank())  # [seed-of-wrong-axis]


def seed_of_replica(seed):
    offset = 10 * ps.get_data_parallel_rank()
    torch.manual_seed(seed + offset)  # [seed-of-wrong-axis]


class ShareSampler(Sampler):
    def __init__(self, dataset, seed):
        self.dataset, self.seed = dataset, seed
        self.rank = ps.get_data_parallel_rank()
        self.world = ps.get_data_parallel_world_size()

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed + self.rank)  # [seed-of-wrong-axis]
        order = torch.randperm(len(self.dataset), generator=g)
        return iter(order[self.rank :: self.world].tolist())
