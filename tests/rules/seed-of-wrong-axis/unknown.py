import torch
from megatron.core import parallel_state as ps
from torch.nn.parallel import DistributedDataParallel


def seed_everything(seed, rank):
    torch.manual_seed(seed + rank)


def seed_replicas(seed, model):
    """The wrapper makes the replicas equal again."""
    torch.manual_seed(seed + ps.get_data_parallel_rank())
    return DistributedDataParallel(model, process_group=ps.get_data_parallel_group()), ps.get_tensor_model_parallel_rank()
