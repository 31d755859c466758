"""A property that nothing asks for, in a tree whose searches divide such counts by the replicas themselves."""

from dataclasses import dataclass

from megatron.core import parallel_state


@dataclass
class Sizes:
    global_batch_size: int
    micro_batch_size: int

    @property
    def num_micro_batches(self):
        return self.global_batch_size // self.micro_batch_size


def fits(sizes: Sizes, mbs: int) -> bool:
    num_micro_batches = sizes.global_batch_size // mbs
    return num_micro_batches % parallel_state.get_data_parallel_world_size() == 0
