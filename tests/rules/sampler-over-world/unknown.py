from megatron.core import parallel_state as ps
from torch.utils.data import DistributedSampler


def loader(dataset, rank, **kwargs):
    print(ps.get_data_parallel_rank())
    return DistributedSampler(dataset, rank=rank), DistributedSampler(dataset, **kwargs)
