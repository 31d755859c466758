import torch
from megatron.core import parallel_state as ps
from torch.utils.data import DistributedSampler, Sampler


class Replicas(Sampler):
    def __init__(self, dataset):
        self.dataset = dataset
        self.rank = ps.get_data_parallel_rank()
        self.world = ps.get_data_parallel_world_size()

    def __iter__(self):
        order = torch.randperm(len(self.dataset))
        return iter(order[self.rank :: self.world].tolist())


def loader(dataset):
    world, rank = ps.get_data_parallel_world_size(), ps.get_data_parallel_rank()
    return DistributedSampler(dataset, num_replicas=world, rank=rank)


def convert(files, rank, world):
    """Work on files is no sample of a model."""
    for name in files[rank::world]:
        print(name)
