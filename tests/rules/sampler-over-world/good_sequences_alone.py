import torch.distributed as dist
from mine import parallel_state as ps
from torch.utils.data import DistributedSampler


def loader(dataset):
    group = ps.get_sequence_parallel_group()
    return DistributedSampler(dataset, num_replicas=dist.get_world_size(), rank=dist.get_rank()), group
