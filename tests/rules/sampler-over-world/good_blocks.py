import torch
import torch.distributed as dist
from megatron.core import parallel_state as mpu


class Batches:
    """A batch sampler."""


class BatchSampler:
    def __init__(self, total, batch):
        self.total, self.batch = total, batch
        self.rank = mpu.get_data_parallel_rank()
        self.size = mpu.get_data_parallel_world_size()

    def __iter__(self):
        order = torch.randperm(self.total).tolist()
        for start in range(0, self.total, self.batch * self.size):
            yield order[start + self.rank * self.batch : start + (self.rank + 1) * self.batch]


def split(width):
    return width // mpu.get_tensor_model_parallel_world_size()
