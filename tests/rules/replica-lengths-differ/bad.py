from megatron.core import parallel_state
from torch.utils.data import Sampler


class InOrder(Sampler):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        rank, world = parallel_state.get_data_parallel_rank(), parallel_state.get_data_parallel_world_size()
        yield from list(range(self.count))[rank::world]  # [replica-lengths-differ]
