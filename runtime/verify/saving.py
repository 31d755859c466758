"""Whether every rank gets back what it saved, through Megatron's distributed checkpoints."""

from __future__ import annotations

import contextlib
import queue
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import torch
import torch.distributed as dist

from .smallrun import Failed, SmallRun

_OTHER = 7.25  # what parameters hold before they are loaded


def check(run: SmallRun) -> None:
    """Save each stage, load it into other numbers, and compare; a shard that claims to be the whole is lost."""
    folders = [tempfile.mkdtemp(prefix="onescience-verify-saved-") if run.rank == 0 else None]
    dist.broadcast_object_list(folders, src=0)
    root = Path(folders[0])
    try:
        for number, stage in enumerate(run.stages):
            run.number = number
            if hasattr(stage, "sharded_state_dict"):
                _there_and_back(run, number, root / str(number))
            else:
                run.notes.append(f"stage {number} has no sharded_state_dict: saving is not tried")
    finally:
        run.number = None
        if run.rank == 0:
            shutil.rmtree(root, ignore_errors=True)


@torch.no_grad()
def _there_and_back(run: SmallRun, number: int, folder: Path) -> None:
    from megatron.core import dist_checkpointing
    from megatron.core.dist_checkpointing.strategies import filesystem_async

    stage = run.stages[number]
    kept = {name: parameter.clone() for name, parameter in stage.named_parameters()}
    if run.rank == 0:
        folder.mkdir()
    dist.barrier()
    try:
        with writing_here(filesystem_async):
            dist_checkpointing.save(stage.sharded_state_dict(), str(folder))
        for parameter in stage.parameters():
            parameter.fill_(_OTHER)
        loaded = dist_checkpointing.load(stage.sharded_state_dict(), str(folder))
        stage.load_state_dict(loaded, strict=False)
    except Exception as error:
        text = f"Megatron's dist_checkpointing does not take it: {type(error).__name__}: {error}"
        run.add("checkpoint", text[:400], number, "", "sharded-parameter-unmarked")
        raise Failed from error
    for name, parameter in stage.named_parameters():
        if not torch.equal(parameter, kept[name]):
            what = "comes back as the shard of another rank" if name in loaded else "is not saved"
            text = f"saved and loaded by Megatron's dist_checkpointing, {name} {what}"
            run.add("checkpoint", text, number, name.rpartition(".")[0], "sharded-parameter-unmarked")
            break
    for name, parameter in stage.named_parameters():
        parameter.copy_(kept[name])


@contextlib.contextmanager
def writing_here(module: ModuleType) -> Iterator[None]:
    """Megatron's writer without its processes: they wait for ever where psutil is not installed, and the one that holds
    the queue of results imports torch anew, for each rank, and outlives a rank that is killed.
    """
    writer = module.FileSystemWriterAsync

    def write(transforms, use_msc, rank, buckets, results) -> None:
        written: dict = {}
        for number, bucket in enumerate(buckets):
            done: queue.Queue = queue.Queue()
            counts: queue.Queue = queue.Queue()
            counts.put(number)
            writer.write_preloaded_data(transforms, number, bucket, done, counts, False)
            _, written[number] = done.get()
            if isinstance(written[number], Exception):
                results.put(written[number])
                return
        results.put(written)

    changed = {"_process_memory": lambda: 0, "_get_write_results_queue": queue.Queue}
    kept = {name: getattr(module, name) for name in changed if hasattr(module, name)}
    kept_write = writer.__dict__["write_preloaded_data_multiproc"]
    writer.write_preloaded_data_multiproc = staticmethod(write)
    try:
        for name in kept:
            setattr(module, name, changed[name])
        yield
    finally:
        writer.write_preloaded_data_multiproc = kept_write
        for name, value in kept.items():
            setattr(module, name, value)
