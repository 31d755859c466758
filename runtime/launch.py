"""Start all ranks of a training script on this machine with one command.

    python -m onescience_check.runtime.launch --nproc-per-node 8 train.py --tensor-model-parallel-size 2 ...

Several machines: use ``torchrun``; the scripts are the same.

On CPUs torch and Megatron, whose import takes seconds of CPU time, are imported once, and the ranks are forked
from there: few cores serve many ranks. CUDA does not survive a fork, so a torch that has it gets a new
interpreter for each rank.
"""

import argparse
import multiprocessing
import os
import runpy
import signal
import socket
import sys
import time
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

from .failure import LAUNCHER_PID
from .language import local

_GRACE_SECONDS = 8.0  # for the other ranks to say why they stop


def main(argv: Sequence[str] | None = None) -> int:
    """Run the script once per rank; 0 if all ranks end well, else 1."""
    parser = argparse.ArgumentParser(
        prog="onescience_check.runtime.launch", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--nproc-per-node", type=int, default=1, help="number of ranks")
    parser.add_argument("script", help="training script")
    parser.add_argument("script_args", nargs=argparse.REMAINDER, help="its flags")
    options = parser.parse_args(argv)
    if options.nproc_per_node < 1:
        parser.error("--nproc-per-node must be 1 or more")
    if not Path(options.script).is_file():
        parser.error(f"no script {options.script}")
    ranks: list[BaseProcess] = []
    signal.signal(signal.SIGTERM, lambda number, frame: _pass_on(ranks))
    try:
        for process in _processes(options):
            process.start()
            ranks.append(process)
        return _wait(ranks)
    except ModuleNotFoundError as error:
        problem = f"error: no module {error.name}: pip install 'onescience-check[runtime]'"
        print(local(problem), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(local("interrupted; stopping all ranks"), file=sys.stderr)
        return 1
    finally:
        _stop(ranks)


def _pass_on(ranks: list[BaseProcess]) -> None:
    """SIGTERM goes to the ranks, which may save before they end; a second one stops them."""
    signal.signal(signal.SIGTERM, _interrupt)
    if not ranks:
        raise KeyboardInterrupt
    for process in ranks:
        process.terminate()


def _interrupt(number, frame) -> None:
    raise KeyboardInterrupt


def _processes(options: argparse.Namespace) -> list[BaseProcess]:
    """One process for each rank, not yet started."""
    size = options.nproc_per_node
    # Megatron says once per rank which optional CUDA libraries are missing. The C++ warnings of a lost
    # connection are pages long, and `failure` says it in a line.
    # A rank that is killed leaves a semaphore to the tracker of multiprocessing, which cleans it up and warns.
    quiet = "ignore:Transformer Engine and Apex are not installed,ignore:Apex is not installed,ignore:resource_tracker"
    threads = str(max(1, (os.cpu_count() or 1) // size))
    defaults = {"OMP_NUM_THREADS": threads, "PYTHONWARNINGS": quiet, "TORCH_CPP_LOG_LEVEL": "ERROR"}
    # Megatron starts an all-reduce before the product that hides it and counts on the GPU to keep that order.
    defaults["CUDA_DEVICE_MAX_CONNECTIONS"] = "1"
    world = {
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        LAUNCHER_PID: str(os.getpid()),
    }
    os.environ |= {**defaults, **os.environ, **world}
    context = multiprocessing.get_context(_start_method())
    command = [options.script, *options.script_args]
    return [
        context.Process(target=_run_rank, args=(rank, command), name=f"rank {rank}") for rank in range(size)
    ]


def _start_method() -> str:
    import torch

    if sys.platform != "linux" or torch.version.cuda is not None or torch.version.hip is not None:
        return "spawn"
    from . import training  # noqa: F401  what every rank would import

    return "fork"


def _run_rank(rank: int, command: list[str]) -> None:
    """What ``python script flags`` does, in a process of its own."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the launcher's way to stop is not a rank's
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    sys.argv = command
    sys.path[0] = str(Path(command[0]).resolve().parent)
    runpy.run_path(command[0], run_name="__main__")


def _wait(ranks: list[BaseProcess]) -> int:
    while True:
        codes = [process.exitcode for process in ranks]
        failed = [rank for rank, code in enumerate(codes) if code not in (None, 0)]
        if failed:
            break
        if None not in codes:
            return 0
        time.sleep(0.1)
    code = codes[failed[0]]
    if code < 0:
        name = signal.Signals(-code).name
        who = f"rank {failed[0]} (process {ranks[failed[0]].pid})"
        print(local(f"{who} was killed by {name}; stopping"), file=sys.stderr)
    deadline = time.monotonic() + (0 if code < 0 else _GRACE_SECONDS)
    while time.monotonic() < deadline and None in (process.exitcode for process in ranks):
        time.sleep(0.1)
    return 1


def _stop(ranks: list[BaseProcess]) -> None:
    for process in ranks:
        process.terminate()
    deadline = time.monotonic() + 3
    for process in ranks:
        process.join(max(0.0, deadline - time.monotonic()))
        if process.exitcode is None:
            process.kill()
            process.join()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main())
