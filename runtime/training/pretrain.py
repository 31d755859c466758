"""The training loop behind Megatron's ``pretrain``."""

import argparse
import itertools
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.distributed as dist

from ..checkpoint.files import latest
from ..checkpoint.resume import load_checkpoint, load_plain, save_checkpoint
from ..errors import UserError
from ..failure import stop_world_on_error
from ..flags import parse_args
from ..pipeline.build import build_chunks, named_stages
from ..pipeline.captured import CapturedPasses
from ..pipeline.chunk import PipelineChunk
from ..pipeline.communication import communicator_for
from ..pipeline.schedule import run_schedule
from ..process_groups import World, destroy_process_groups, initialize_process_groups, seed_random_streams
from .data import check_dataset, micro_batches
from .losses import world_losses
from .optimizer import MasterWeightAdamW, build_schedule
from .records import Records


def pretrain(
    train_valid_test_dataset_provider: Callable,
    model_provider: Callable,
    model_type,
    forward_step_func: Callable,
    args_defaults: dict | None = None,
    extra_args_provider: Callable[[argparse.ArgumentParser], argparse.ArgumentParser] | None = None,
) -> None:
    """Train a staged model by the flags of the command line.

    On any error every rank leaves with status 1, after one message; see `failure`.

    Args:
        train_valid_test_dataset_provider: takes the numbers of training, validation and test samples that the
            run will draw, returns three Datasets (the last two may be None). Must have ``is_distributed =
            True``: every rank builds them.
        model_provider: builds the stage of this pipeline rank and sets
            ``get_args().pipeline_tensor_shape_config``.
        model_type: passed on to the schedule; None will do.
        forward_step_func: ``(data_iterator, model) -> (output, loss_func)``.
        args_defaults: other defaults of flags, by name with underscores.
        extra_args_provider: adds the script's own flags.
    """
    with stop_world_on_error() as guard:
        args = parse_args(args_defaults, extra_args_provider)
        world = initialize_process_groups(
            args.tensor_model_parallel_size,
            args.pipeline_model_parallel_size,
            args.num_virtual_stages_per_pipeline_rank,
            args.device,
            args.distributed_backend,
            args.distributed_timeout_minutes,
            args.seed,
            args.window_parallel_size,
        )
        guard.start_watch(world.rank, world.size)
        trainer = Trainer(args, world, model_provider, model_type, forward_step_func)
        trainer.train(*build_datasets(args, train_valid_test_dataset_provider))
        dist.barrier()
    destroy_process_groups()


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
    return train, valid


class Trainer:
    """The state of a run on one rank.

    Raises:
        UserError: batch sizes that do not fit the replicas, or folders that must not be overwritten.
    """

    def __init__(
        self,
        args: argparse.Namespace,
        world: World,
        model_provider: Callable,
        model_type,
        forward_step_func: Callable,
    ) -> None:
        self.args, self.world, self.forward_step_func = args, world, forward_step_func
        self.num_microbatches = _num_microbatches(args)
        self.chunks: list[PipelineChunk] = [
            chunk.to(world.device) for chunk in build_chunks(model_provider, model_type)
        ]
        self.communicator = communicator_for(self.chunks, world.host_staged)
        named = {}
        for _, stage in named_stages(self.chunks):
            for name, param in stage.named_parameters():
                if name in named:
                    raise UserError(f"two stages both have a parameter {name}: give one of them another name")
                named[name] = param
        if args.pretrained_checkpoint is not None:
            load_plain(Path(args.pretrained_checkpoint), self.chunks)
        self.optimizer = MasterWeightAdamW(named)
        self.schedule = build_schedule(self.optimizer)
        self.captured: CapturedPasses | None = None
        self.iteration = self.consumed = 0

    def train(self, train_data, valid_data) -> None:
        """Run the iterations that are left."""
        args = self.args
        _seed_training(args)
        self._resume()
        self.schedule.step(self.iteration)
        records = self._records()
        iterators = self._iterators(train_data, self.consumed, args.dataloader_type == "cyclic")
        while self.iteration < args.train_iters:
            started = time.perf_counter()
            learning_rate = self.optimizer.param_groups[0]["lr"]
            losses, norm = self._step(iterators)
            self.iteration += 1
            self.consumed += args.global_batch_size
            self.schedule.step(1)
            if args.eval_interval and self.iteration % args.eval_interval == 0:
                losses |= {f"validation {name}": value for name, value in self._evaluate(valid_data).items()}
            row = {"iteration": self.iteration, "consumed_samples": self.consumed, **losses}
            row |= {
                "learning_rate": learning_rate,
                "grad_norm": norm,
                "seconds": time.perf_counter() - started,
            }
            if records is not None:
                records.add(row)
            leave = args.exit_interval is not None and self.iteration % args.exit_interval == 0
            if leave or self.iteration % args.save_interval == 0 or self.iteration == args.train_iters:
                self._save(records)
            if leave:
                break
        if records is not None:
            records.close()

    def _step(self, iterators: list[Iterator]) -> tuple[dict[str, float], float]:
        if self.args.cuda_graph:
            reports = self._run_captured(iterators[0])
        else:
            reports = self._run(iterators, self.num_microbatches, forward_only=False)
        norm = self.optimizer.step()
        losses, norm = world_losses(reports), norm.item()  # the host waits for the device here, once
        bad = [name for name, value in losses.items() if not math.isfinite(value)]
        if bad or not math.isfinite(norm):
            what = f"{bad[0]} is {losses[bad[0]]}" if bad else f"the gradient norm is {norm}"
            raise UserError(
                f"iteration {self.iteration + 1}: {what}. Lower --lr, add --lr-warmup-iters, or check the "
                "data"
            )
        return losses, norm

    def _evaluate(self, data) -> dict[str, float]:
        for chunk in self.chunks:
            chunk.eval()
        iterators = self._iterators(data, 0, shuffle=False)
        with torch.no_grad():
            reports = self._run(iterators, self.num_microbatches * self.args.eval_iters, forward_only=True)
        for chunk in self.chunks:
            chunk.train()
        return world_losses(reports)

    def _run(self, iterators: list[Iterator], num_microbatches: int, forward_only: bool) -> list[dict]:
        return run_schedule(
            self.forward_step_func,
            iterators,
            self.chunks,
            num_microbatches,
            self.args.micro_batch_size,
            forward_only,
            self.communicator,
        )

    def _run_captured(self, iterator: Iterator) -> list[dict]:
        if self.captured is None:
            example = next(iterator)
            iterator = itertools.chain([example], iterator)
            self.captured = CapturedPasses(
                self.forward_step_func, self.chunks, self.optimizer, example, self.num_microbatches
            )
        return self.captured.run(iterator)

    def _iterators(self, data, consumed: int, shuffle: bool) -> list[Iterator]:
        # Each chunk of the interleaved schedule walks through the data at its own pace.
        return [micro_batches(data, consumed, shuffle) for _ in self.chunks]

    def _resume(self) -> None:
        load, save = self.args.load, self.args.save
        same = load is not None and save is not None and Path(load).resolve() == Path(save).resolve()
        if load is not None and not (same and latest(Path(load)) is None):
            self.iteration, self.consumed = load_checkpoint(Path(load), self.chunks, self.optimizer)
        if save is not None and not same and latest(Path(save)) is not None:
            raise UserError(
                f"--save {save} holds checkpoints already: add --load {save} to go on, or choose another"
            )

    def _save(self, records: Records | None) -> None:
        if self.args.save is not None:
            save_checkpoint(Path(self.args.save), self.iteration, self.consumed, self.chunks, self.optimizer)
        if records is not None:
            records.plot()

    def _records(self) -> Records | None:
        args = self.args
        if self.world.rank != 0:
            return None
        resuming = args.load is not None
        return Records(
            args.log_dir, args.tensorboard_dir, self.iteration, args.train_iters, resuming, args.log_interval
        )


def _num_microbatches(args: argparse.Namespace) -> int:
    from megatron.core import parallel_state

    replicas = parallel_state.get_data_parallel_world_size()
    per_pass = args.micro_batch_size * replicas
    if args.global_batch_size is None:
        args.global_batch_size = per_pass
    if args.global_batch_size < 1 or args.global_batch_size % per_pass:
        raise UserError(
            f"--global-batch-size {args.global_batch_size} is not a multiple of --micro-batch-size "
            f"{args.micro_batch_size} x {replicas} data-parallel replicas"
        )
    return args.global_batch_size // per_pass


def _seed_training(args: argparse.Namespace) -> None:
    """Streams of dropout: shared within a tensor-parallel group, other ones on each stage and replica."""
    from megatron.core import parallel_state

    pipeline_rank = parallel_state.get_pipeline_model_parallel_rank()
    replica = parallel_state.get_data_parallel_rank()
    seed_random_streams(args.seed + 100 * pipeline_rank + 10_000 * replica)
