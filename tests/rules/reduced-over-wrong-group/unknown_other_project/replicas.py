"""One project of the tree deals samples to the replicas of split models."""

from megatron.core import parallel_state


class ReplicaSampler:
    def __iter__(self):
        start, step = parallel_state.get_data_parallel_rank(), parallel_state.get_data_parallel_world_size()
        return iter(self.order[start::step])
