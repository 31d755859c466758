from megatron.core import parallel_state
from torch.utils.data import Sampler


class InOrder(Sampler):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        rank, world = parallel_state.get_data_parallel_rank(), parallel_state.get_data_parallel_world_size()
        even = self.count // world * world
        yield from list(range(even))[rank::world]


class Padded(Sampler):
    def __iter__(self):
        indices = self.indices + self.indices[: self.total_size - len(self.indices)]
        return iter(indices[self.rank : self.total_size : self.num_replicas])


class Cut(Sampler):
    def __iter__(self):
        order = list(range(self.count))[: self.per_replica * self.world]
        return iter(order[self.rank :: self.world])
