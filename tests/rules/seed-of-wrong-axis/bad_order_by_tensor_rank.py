import random
import torch
from megatron.core import parallel_state as mpu
from torch.utils.data import DataLoader, Sampler


class Shuffled(Sampler):
    def __init__(self, n, seed):
        self.n, self.seed, self.epoch = n, seed, 0
        self.dp, self.dps = mpu.get_data_parallel_rank(), mpu.get_data_parallel_world_size()

    def __iter__(self):
        g = torch.Generator()
        g.manual_seed(self.seed + self.epoch + mpu.get_tensor_model_parallel_rank())  # [seed-of-wrong-axis]
        order = torch.randperm(self.n, generator=g).tolist()
        return iter(order[self.dp :: self.dps])

    def __len__(self):
        return self.n // self.dps
