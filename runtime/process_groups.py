"""Process groups, device and random streams from plain arguments.

Three kinds of worlds:

- CPU: gloo, with `cpu_emulation`;
- GPUs, one per rank: NCCL;
- GPUs shared by several ranks: gloo, because NCCL refuses two ranks on one GPU. Collectives take CUDA tensors
  there, point-to-point messages go through host memory (`pipeline.communication`).
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist

from . import cpu_emulation
from .errors import UserError


@dataclass(frozen=True)
class World:
    """Where this rank runs. ``host_staged``: pipeline messages must go through host memory."""

    rank: int
    size: int
    device: torch.device
    backend: str
    host_staged: bool


def initialize_process_groups(
    tensor_model_parallel_size: int = 1,
    pipeline_model_parallel_size: int = 1,
    virtual_pipeline_model_parallel_size: int | None = None,
    device: str = "auto",
    backend: str | None = None,
    timeout_minutes: float = 10,
    seed: int = 1234,
    window_parallel_size: int = 1,
) -> World:
    """Join the world described by RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, and split it.

    Ranks left after tensor, window and pipeline parallelism form the data-parallel dimension. A world that was joined
    before is split anew, once ``mpu.destroy_model_parallel()`` has ended the former split.

    Args:
        tensor_model_parallel_size: ranks that share one layer.
        pipeline_model_parallel_size: ranks in a pipeline.
        virtual_pipeline_model_parallel_size: model chunks per rank for the interleaved schedule, None for
            1F1B.
        device: "cpu", "cuda", or "auto": CUDA where there is some.
        backend: "nccl" or "gloo". None: NCCL when every rank has a GPU of its own, gloo otherwise.
        timeout_minutes: how long a collective may wait.
        seed: start of the random streams, see `seed_random_streams`.
        window_parallel_size: ranks that share the windows of a grid; Megatron's context-parallel group.

    Raises:
        UserError: the world does not fit, or the device or backend cannot serve it.
    """
    from megatron.core import parallel_state

    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    check_world(size, tensor_model_parallel_size, pipeline_model_parallel_size, window_parallel_size)
    if virtual_pipeline_model_parallel_size is not None and pipeline_model_parallel_size == 1:
        raise UserError("the interleaved schedule needs --pipeline-model-parallel-size of 2 or more")
    chosen, backend, host_staged = _choose_device(device, backend)
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    else:
        cpu_emulation.install()
    if not dist.is_initialized():
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", str(free_port()) if size == 1 else "29500")
        try:
            dist.init_process_group(
                backend, rank=rank, world_size=size, timeout=timedelta(minutes=timeout_minutes)
            )
        except dist.DistNetworkError as error:
            if "EADDRINUSE" not in str(error):
                raise
            raise UserError(
                f"port {os.environ['MASTER_PORT']} is in use: set MASTER_PORT to another for all ranks"
            ) from None
    parallel_state.initialize_model_parallel(
        tensor_model_parallel_size,
        pipeline_model_parallel_size,
        virtual_pipeline_model_parallel_size,
        context_parallel_size=window_parallel_size,
        distributed_timeout_minutes=int(max(1, timeout_minutes)),
        create_gloo_process_groups=False,
    )
    seed_random_streams(seed)
    return World(rank, size, chosen, backend, host_staged)


def destroy_process_groups() -> None:
    """Leave the world."""
    from megatron.core import parallel_state

    parallel_state.destroy_model_parallel()
    if dist.is_initialized():
        dist.destroy_process_group()


def wait_for_all() -> None:
    """A barrier of all ranks. Without the device, NCCL guesses it, and says so every time."""
    dist.barrier(device_ids=[torch.cuda.current_device()] if dist.get_backend() == "nccl" else None)


def seed_random_streams(seed: int) -> None:
    """Start the random streams: one shared by tensor-parallel ranks, one of each rank's own.

    Megatron's rule: dropout outside tensor-parallel regions draws from the shared stream, so that ranks
    agree, and sharded regions fork the other one (`get_cuda_rng_tracker().fork()`).
    """
    from megatron.core.tensor_parallel import model_parallel_cuda_manual_seed

    torch.manual_seed(seed)
    model_parallel_cuda_manual_seed(seed)


def check_world(size: int, tensor: int, pipeline: int, window: int = 1) -> None:
    """Raise UserError unless `size` ranks can be split into groups of `tensor` x `window` x `pipeline`."""
    if tensor < 1 or pipeline < 1 or window < 1:
        raise UserError(
            "--tensor-model-parallel-size, --window-parallel-size and --pipeline-model-parallel-size must be 1 or more"
        )
    together = tensor * window * pipeline
    if size % together:
        windows = f"window-parallel {window} x " if window > 1 else ""
        raise UserError(
            f"{size} processes cannot be split into tensor-parallel {tensor} x {windows}pipeline-parallel {pipeline}: "
            f"start a multiple of {together} processes, or change --tensor-model-parallel-size / "
            f"{'--window-parallel-size / ' if window > 1 else ''}--pipeline-model-parallel-size"
        )


def free_port() -> int:
    """A port of this machine that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _choose_device(device: str, backend: str | None) -> tuple[torch.device, str, bool]:
    """Device of this rank, backend of the world, and whether ranks share a GPU."""
    if device not in ("auto", "cpu", "cuda"):
        raise UserError(f"--device {device}: choose auto, cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda, but torch sees no GPU: use --device cpu, or install torch for CUDA")
    if device == "cpu" or not torch.cuda.is_available():
        if backend == "nccl":
            raise UserError("--distributed-backend nccl needs GPUs: use gloo on CPUs")
        return torch.device("cpu"), "gloo", False
    local_rank = int(os.environ.get("LOCAL_RANK", os.environ.get("RANK", 0)))
    local_size = int(os.environ.get("LOCAL_WORLD_SIZE", os.environ.get("WORLD_SIZE", 1)))
    gpus = torch.cuda.device_count()
    shared = local_size > gpus
    if shared and backend == "nccl":
        raise UserError(
            f"{local_size} ranks on {gpus} GPUs: NCCL takes one rank per GPU. Start at most {gpus} "
            "processes here, "
            "or share the GPUs with --distributed-backend gloo"
        )
    backend = backend or ("gloo" if shared else "nccl")
    return torch.device("cuda", local_rank % gpus), backend, backend == "gloo"


@contextmanager
def pipeline_rank(number: int, size: int) -> Iterator[None]:
    """Megatron answers with this pipeline rank, of ``size``."""
    from megatron.core import parallel_state

    parallel_state.set_pipeline_model_parallel_rank(number)
    parallel_state.set_pipeline_model_parallel_world_size(size)
    try:
        yield
    finally:
        parallel_state.set_pipeline_model_parallel_rank(None)
        parallel_state.set_pipeline_model_parallel_world_size(None)
