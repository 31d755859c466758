import torch
from megatron.core import parallel_state as ps
from megatron.core.tensor_parallel import get_cuda_rng_tracker, model_parallel_cuda_manual_seed
from torch.utils.data import Sampler


def seed_everything(seed):
    seed = seed + 100 * ps.get_pipeline_model_parallel_rank()
    torch.manual_seed(seed)
    get_cuda_rng_tracker().add("own", seed + ps.get_tensor_model_parallel_rank())
    model_parallel_cuda_manual_seed(seed)


def own_generator(seed):
    return torch.Generator().manual_seed(seed + ps.get_tensor_model_parallel_rank())


class ShareSampler(Sampler):
    def __init__(self, dataset, seed):
        self.dataset, self.seed = dataset, seed
        self.rank = ps.get_data_parallel_rank()
        self.world = ps.get_data_parallel_world_size()

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed)
        order = torch.randperm(len(self.dataset), generator=g)
        return iter(order[self.rank :: self.world].tolist())


def by_group_rank(seed, pg_collection):
    rank = torch.distributed.get_rank()
    torch.manual_seed(seed + 100 * torch.distributed.get_group_rank(pg_collection.pp, rank))
