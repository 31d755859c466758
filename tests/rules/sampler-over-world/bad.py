import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps
from torch.utils.data import DistributedSampler, Sampler


class Replicas(Sampler):
    def __init__(self, dataset):
        self.dataset = dataset
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()

    def __iter__(self):
        order = torch.randperm(len(self.dataset))
        return iter(order[self.rank :: self.world].tolist())  # [sampler-over-world]


class ShardSampler:
    def __iter__(self):
        rank, world = ps.get_tensor_model_parallel_rank(), ps.get_tensor_model_parallel_world_size()
        yield from range(rank, self.length, world)  # [sampler-over-world]


def loader(dataset):
    return DistributedSampler(  # [sampler-over-world]
        dataset, num_replicas=dist.get_world_size(), rank=dist.get_rank()
    )
