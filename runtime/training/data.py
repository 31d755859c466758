"""Which samples a replica sees in which step: a function of the number of samples consumed, so that runs
resume.
"""

from collections.abc import Iterator

import torch
from torch.utils.data import DataLoader, Dataset

from ..errors import UserError
from ..flags import get_args


class MicroBatchSampler:
    """Sample numbers of one replica's micro-batches, from a given point on and without end.

    The samples of a step are ``global_batch_size`` consecutive places of the order; micro-batch j of replica
    d takes the places from ``(j * replicas + d) * micro_batch_size``.

    Args:
        num_samples: samples in the data set.
        consumed: samples that all replicas together have seen.
        micro_batch_size: samples per micro-batch.
        replica: number of this replica.
        replicas: how many there are.
        shuffle_seed: seed of the order, which changes every epoch; None: in order.
    """

    def __init__(
        self,
        num_samples: int,
        consumed: int,
        micro_batch_size: int,
        replica: int,
        replicas: int,
        shuffle_seed: int | None,
    ) -> None:
        self.num_samples = num_samples
        self.consumed = consumed
        self.micro_batch_size = micro_batch_size
        self.replica = replica
        self.replicas = replicas
        self.shuffle_seed = shuffle_seed

    def __iter__(self) -> Iterator[list[int]]:
        start, epoch, order = self.consumed, -1, range(0)
        while True:
            first = start + self.replica * self.micro_batch_size
            batch = []
            for place in range(first, first + self.micro_batch_size):
                if place // self.num_samples != epoch:
                    epoch = place // self.num_samples
                    order = self._order(epoch)
                batch.append(order[place % self.num_samples])
            yield batch
            start += self.replicas * self.micro_batch_size

    def _order(self, epoch: int):
        if self.shuffle_seed is None:
            return range(self.num_samples)
        generator = torch.Generator().manual_seed(self.shuffle_seed + epoch)
        return torch.randperm(self.num_samples, generator=generator).tolist()


def check_dataset(dataset, name: str) -> None:
    """Raise UserError unless `dataset` is a Dataset with samples."""
    if isinstance(dataset, DataLoader):
        raise UserError(
            f"the {name} data provider returned a DataLoader: return the Dataset, batches are made here"
        )
    if not isinstance(dataset, Dataset) or not hasattr(dataset, "__len__"):
        raise UserError(
            f"the {name} data must be a torch Dataset with a length, not {type(dataset).__name__}"
        )
    if len(dataset) == 0:
        raise UserError(f"the {name} data set is empty")


def micro_batches(dataset: Dataset, consumed: int, shuffle: bool) -> Iterator:
    """Collated micro-batches of this replica, without end."""
    from megatron.core import parallel_state

    args = get_args()
    sampler = MicroBatchSampler(
        len(dataset),
        consumed,
        args.micro_batch_size,
        parallel_state.get_data_parallel_rank(),
        parallel_state.get_data_parallel_world_size(),
        args.seed if shuffle else None,
    )
    # A generator of its own: the loader must not draw from the streams that dropout uses.
    loader = DataLoader(
        dataset, batch_sampler=sampler, num_workers=args.num_workers, generator=torch.Generator()
    )
    return iter(loader)
