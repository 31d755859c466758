"""The training loop."""

import argparse
import itertools
import math
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path

import torch
import torch.distributed as dist
from tqdm import tqdm

from ..checkpoint.files import delete_old, latest
from ..checkpoint.resume import Progress, load_checkpoint, load_weights, save_checkpoint
from ..errors import UserError
from ..failure import Watch
from ..language import local
from ..pipeline.build import build_chunks, named_stages
from ..pipeline.captured import CapturedPasses
from ..pipeline.chunk import PipelineChunk
from ..pipeline.communication import communicator_for
from ..pipeline.schedule import run_schedule
from ..process_groups import World, seed_random_streams
from .data import bad_values, micro_batches, training_order, whole_set
from .losses import world_losses
from .optimizer import MasterWeightAdamW, build_schedule
from .records import VALIDATION, Records
from .stopping import EarlyStop
from .summary import describe_run


class Trainer:
    """The state of a run on one rank.

    Raises:
        UserError: batch sizes that do not fit the replicas, or folders that must not be overwritten.
    """

    def __init__(
        self,
        args: argparse.Namespace,
        world: World,
        watch: Watch,
        model_provider: Callable,
        model_type,
        forward_step_func: Callable,
    ) -> None:
        self.args, self.world, self.watch, self.forward_step_func = args, world, watch, forward_step_func
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
        self.start = "starts anew"
        if args.pretrained_checkpoint is not None:
            load_weights(Path(args.pretrained_checkpoint), self.chunks)
            self.start = f"starts with the weights of {args.pretrained_checkpoint}"
        self.optimizer = MasterWeightAdamW(named)
        self.schedule = build_schedule(self.optimizer)
        self.captured: CapturedPasses | None = None
        self.progress = Progress()
        self.skipped = 0

    def train(self, train_data, valid_data) -> None:
        """Run the iterations that are left."""
        args = self.args
        _seed_training(args)
        self._resume(len(train_data))
        self.schedule.step(self.progress.iteration)
        # Before the summary: what is wrong with the record is then the only line.
        records = self._records() if self.progress.iteration < args.train_iters else None
        self._say(describe_run(args, self.world, self.chunks, train_data, valid_data, self.start))
        if self.progress.iteration >= args.train_iters:
            self._say(
                f"nothing to do: {args.load} is at iteration {self.progress.iteration} of --train-iters "
                f"{args.train_iters}"
            )
            return
        stop = EarlyStop(args.exit_duration_in_mins)
        order = training_order(len(train_data), self.progress.consumed_samples)
        iterators = self._iterators(train_data, order)
        while self.progress.iteration < args.train_iters:
            started = time.perf_counter()
            row = self._iteration(iterators, train_data, valid_data)
            stop.took("step", time.perf_counter() - started)
            if records is not None:
                records.add(row)
            reason = stop.reason()
            done = self.progress.iteration
            if reason is None and args.exit_interval is not None and done % args.exit_interval == 0:
                reason = "--exit-interval"
            if reason or done % args.save_interval == 0 or done == args.train_iters:
                started = time.perf_counter()
                self.watch.pause()
                self._save(records)
                stop.took("save", time.perf_counter() - started)
            if reason:
                saved = f"go on with --load {args.save}" if args.save else "nothing is saved without --save"
                self._say(f"stopped after iteration {done} by {reason}: {saved}")
                break
        _close(iterators)
        stop.close()
        if records is not None:
            records.close()

    def _iteration(self, iterators: list[Iterator], train_data, valid_data) -> dict[str, float]:
        """One step, and validation where it is due; what to record of it."""
        started = time.perf_counter()
        learning_rate = self.optimizer.param_groups[0]["lr"]
        losses, norm = self._step(iterators, train_data)
        self.progress.iteration += 1
        self.progress.consumed_samples += self.args.global_batch_size
        self.schedule.step(1)
        seconds = time.perf_counter() - started
        self.progress.validation = None
        self.watch.pause()
        if self.args.eval_interval and self.progress.iteration % self.args.eval_interval == 0:
            validated = self._evaluate(valid_data)
            self.progress.validation = next(iter(validated.values()))
            losses |= {VALIDATION + name: value for name, value in validated.items()}
        self.watch.step_done()
        row = {
            "iteration": self.progress.iteration,
            "consumed_samples": self.progress.consumed_samples,
            **losses,
        }
        row |= {"learning_rate": learning_rate, "grad_norm": norm, "seconds": seconds}
        self.progress.row = row
        return row

    def _step(self, iterators: list[Iterator], train_data) -> tuple[dict[str, float], float]:
        if self.args.cuda_graph:
            reports = self._run_captured(iterators[0])
        else:
            reports = self._run(iterators, self.num_microbatches, forward_only=False)
        norm = self.optimizer.step()
        losses, norm = world_losses(reports), norm.item()  # the host waits for the device here, once
        bad = [f"{name} is {value}" for name, value in losses.items() if not math.isfinite(value)]
        if bad or not math.isfinite(norm):
            self._refuse(bad[0] if bad else f"the gradient norm is {norm}", train_data)
        return losses, norm

    def _refuse(self, what: str, train_data) -> None:
        """Say why a step changed no weight; the run ends unless such steps may be skipped."""
        order = itertools.islice(
            training_order(len(train_data), self.progress.consumed_samples), self.num_microbatches
        )
        found = [None] * self.world.size
        dist.all_gather_object(found, bad_values(train_data, itertools.chain(*order)))
        where = next(filter(None, found), None)
        problem = f"iteration {self.progress.iteration + 1}: {what}" + (f": {where}" if where else "")
        self.skipped += 1
        if self.skipped > self.args.skip_nonfinite_steps:
            raise UserError(
                f"{problem}. Mend the data, or go on without such steps by --skip-nonfinite-steps"
                if where
                else f"{problem}. Lower --lr, add --lr-warmup-iters, or check the data"
            )
        self._say(f"{problem}; the step is skipped")

    def _evaluate(self, data) -> dict[str, float]:
        from megatron.core import parallel_state

        for chunk in self.chunks:
            chunk.eval()
        replica, replicas = (
            parallel_state.get_data_parallel_rank(),
            parallel_state.get_data_parallel_world_size(),
        )
        if self.args.full_validation:
            multiple = parallel_state.get_pipeline_model_parallel_world_size() if len(self.chunks) > 1 else 1
            plan = whole_set(len(data), self.args.micro_batch_size, replica, replicas, multiple)
        else:
            samples = self.args.eval_iters * self.args.global_batch_size
            plan = whole_set(samples, self.args.micro_batch_size, replica, replicas)
        order, weights = zip(*plan, strict=True)
        iterators = self._iterators(data, order)
        with torch.no_grad():
            reports = self._run(iterators, len(order), forward_only=True)
        _close(iterators)
        for chunk in self.chunks:
            chunk.train()
        return world_losses(reports, weights)

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

    def _iterators(self, data, order: Iterable[list[int]]) -> list[Generator]:
        # Each chunk of the interleaved schedule walks through the data at its own pace.
        return [micro_batches(data, order) for _ in self.chunks]

    def _resume(self, samples: int) -> None:
        load, save = self.args.load, self.args.save
        same = load is not None and save is not None and Path(load).resolve() == Path(save).resolve()
        if load is not None and not (same and latest(Path(load)) is None):
            self.progress = load_checkpoint(Path(load), self.chunks, self.optimizer)
            self.start = f"resumed from iteration {self.progress.iteration} of {load}"
            if samples < self.progress.samples:
                raise UserError(
                    f"there were {self.progress.samples} training samples when {load} was saved and there are "
                    f"{samples} now: has a data file shrunk? To train on what is left, start anew with "
                    f"--pretrained-checkpoint {load}"
                )
            if samples > self.progress.samples > 0:
                self.start += f"; {samples - self.progress.samples} training samples are new: another order"
        self.progress.samples = samples
        if save is not None and not same and latest(Path(save)) is not None:
            raise UserError(
                f"--save {save} holds checkpoints already: add --load {save} to go on, or choose another"
            )

    def _save(self, records: Records | None) -> None:
        if self.args.save is not None:
            save_checkpoint(Path(self.args.save), self.progress, self.chunks, self.optimizer)
            if self.world.rank == 0 and self.args.keep_last is not None:
                delete_old(Path(self.args.save), self.args.keep_last, self.args.keep_best)
        if records is not None:
            records.plot()

    def _say(self, text: str) -> None:
        if self.world.rank == 0:
            tqdm.write(local(text))  # above the bar, where there is one
            sys.stdout.flush()

    def _records(self) -> Records | None:
        args = self.args
        if self.world.rank != 0:
            return None
        resuming = args.load is not None
        return Records(
            args.log_dir,
            args.tensorboard_dir,
            self.progress.iteration,
            args.train_iters,
            resuming,
            args.log_interval,
            self.progress.row,
        )


def _close(iterators: Iterable[Generator]) -> None:
    """End their loader processes now. These leave SIGTERM to the rank, so that at its exit nothing would end them."""
    for iterator in iterators:
        iterator.close()


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
