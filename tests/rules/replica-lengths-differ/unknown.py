from megatron.core import parallel_state
from torch.utils.data import Sampler


class Given(Sampler):
    def __init__(self, order):
        self.order = order
        self.first = parallel_state.get_data_parallel_rank()

    def __iter__(self):
        return iter(self.order[self.first :: 2])
