"""Which samples a replica sees in which step: a function of the number of samples consumed, so that runs
resume.
"""

import argparse
import signal
from collections.abc import Callable, Generator, Iterable, Iterator

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from ..errors import UserError, loader_died
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


def whole_set(
    num_samples: int, micro_batch_size: int, replica: int, replicas: int, multiple: int = 1
) -> list[tuple[list[int], float]]:
    """Micro-batches of one replica that show each sample once, and what each counts for.

    What does not fill a micro-batch of every replica is shown as copies of one sample, which have its mean.

    Args:
        num_samples: samples in the data set.
        micro_batch_size: samples per micro-batch.
        replica: number of this replica.
        replicas: how many there are; all get the same number of micro-batches.
        multiple: of what this number must be; the last ones then count nothing.
    """
    sampler = MicroBatchSampler(num_samples, 0, micro_batch_size, replica, replicas, None)
    together = micro_batch_size * replicas
    plan = [(batch, 1.0) for _, batch in zip(range(num_samples // together), sampler, strict=False)]
    for first in range(num_samples - num_samples % together, num_samples, replicas):
        sample = first + replica
        inside = sample < num_samples
        plan.append(([sample if inside else 0] * micro_batch_size, inside / micro_batch_size))
    return plan + [([0] * micro_batch_size, 0.0)] * (-len(plan) % multiple)


def build_datasets(args: argparse.Namespace, provider: Callable) -> tuple:
    """Training and validation Dataset (or None), checked."""
    if not getattr(provider, "is_distributed", False):
        raise UserError(
            "set train_valid_test_dataset_provider.is_distributed = True: every rank reads its own data"
        )
    samples = args.train_iters * args.global_batch_size
    evaluations = args.train_iters // args.eval_interval if args.eval_interval else 0
    datasets = provider([samples, evaluations * args.eval_iters * args.global_batch_size, 0])
    if not isinstance(datasets, tuple | list) or len(datasets) != 3:
        raise UserError(
            "train_valid_test_dataset_provider must return three Datasets: training, validation, test"
        )
    train, valid, _ = datasets
    check_dataset(train, "training")
    if args.dataloader_type == "single" and len(train) < samples:
        raise UserError(
            f"--dataloader-type single reads each sample once, but {samples} are needed and there are "
            f"{len(train)}: "
            "lower --train-iters, or use cyclic"
        )
    if args.eval_interval:
        check_dataset(valid, "validation")
        wanted = args.eval_iters * args.global_batch_size
        if not args.full_validation and wanted > len(valid):
            raise UserError(
                f"--eval-iters {args.eval_iters} wants {wanted} validation samples and there are {len(valid)}: lower "
                "it, or take --full-validation, which shows each once"
            )
    return train, valid


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


def training_order(num_samples: int, consumed: int) -> MicroBatchSampler:
    """The sample numbers of this replica from here on."""
    from megatron.core import parallel_state

    args = get_args()
    return MicroBatchSampler(
        num_samples,
        consumed,
        args.micro_batch_size,
        parallel_state.get_data_parallel_rank(),
        parallel_state.get_data_parallel_world_size(),
        args.seed if args.dataloader_type == "cyclic" else None,
    )


def micro_batches(dataset: Dataset, order: Iterable[list[int]]) -> Generator:
    """Collated micro-batches of these samples.

    Raises:
        UserError: a sample cannot be read, or a loader process died.
    """
    # A generator of its own: the loader must not draw from the streams that dropout uses.
    loader = DataLoader(
        dataset,
        batch_sampler=order,
        num_workers=get_args().num_workers,
        generator=torch.Generator(),
        worker_init_fn=_leave_sigterm_to_the_rank,
    )
    batches = iter(loader)
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            return
        except UserError as error:  # of a loader process: torch puts its traceback in front
            raise UserError(str(error).rsplit("UserError: ", 1)[-1].strip()) from None
        except RuntimeError as error:
            raise loader_died(error) or error from None
        yield batch


def bad_values(dataset: Dataset, samples: Iterable[int]) -> str | None:
    """Where the first value of these samples that is not a number lies, None if there is none."""
    for index in samples:
        if hasattr(dataset, "bad_values"):
            found = dataset.bad_values(index)
        else:
            parts = [np.asarray(part) for part in dataset[index]]
            bad = [part for part in parts if part.dtype.kind == "f" and not np.isfinite(part).all()]
            found = f"sample {index} of the training data holds values that are not finite" if bad else None
        if found:
            return found
    return None


def _leave_sigterm_to_the_rank(worker: int) -> None:
    # A job scheduler sends it to every process; the rank still wants batches until its step is done.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
