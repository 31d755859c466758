"""Worlds of several processes that are let fail, and the logs they leave.

torch and megatron-core are imported once: each world is forked.
"""

from __future__ import annotations

import contextlib
import datetime
import faulthandler
import functools
import os
import runpy
import signal
import sys
import time
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
import megatron.core.pipeline_parallel.schedules  # noqa: F401
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

HERE = Path(__file__).resolve().parent
WAIT = 20.0  # seconds that gloo and the store wait, instead of half an hour
LIMIT = 75.0  # seconds after which a world that stands still is asked for its stacks and killed
HUNG = "hung"


def run_world(
    drive: Path, arguments: list[str], tree: Path, processes: int, log: Path, marked: bool
) -> int | str:
    """Run `drive` in `tree` and keep what it printed; the exit code, or HUNG. `marked` is torchrun's `--tee 3`."""
    child = os.fork()
    if child == 0:
        os.setsid()
        _write_to(log)
        code = 1
        try:
            _launch(drive, arguments, tree, processes, marked)
            code = 0
        except BaseException:
            traceback.print_exc()
        _leave(code)
    return _wait(child)


def _write_to(log: Path) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)


def _launch(drive: Path, arguments: list[str], tree: Path, processes: int, marked: bool) -> None:
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        start_method="fork",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        run_id="none",
        max_restarts=0,
        monitor_interval=0.3,
        logs_specs=DefaultLogsSpecs(tee=Std.ALL if marked else Std.NONE),
    )
    elastic_launch(config, _rank)(str(drive), arguments, str(tree))


def _wait(child: int) -> int | str:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.2)
    ranks = _descendants(child)
    for process in ranks:  # one after the other: where lines carry no marks, stacks must not mix
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGUSR1)
        time.sleep(0.3)
    time.sleep(1)
    for process in (*ranks, child):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    os.waitpid(child, 0)
    return HUNG


def _descendants(process: int) -> list[int]:
    found = []
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        found += [int(child) for child in children.read_text().split()]
    return sorted(found)


def _rank(drive: str, arguments: list[str], tree: str) -> None:
    """One rank: the tree is where the package and the scripts are found, waits are short."""
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    warnings.filterwarnings("ignore")
    os.chdir(tree)
    dist.init_process_group = _shortened(dist.init_process_group)
    dist.new_group = _shortened(dist.new_group)
    sys.argv = [drive, *arguments]
    try:
        runpy.run_path(drive, run_name="__main__")
    except SystemExit as ended:
        _leave(ended.code if isinstance(ended.code, int) else 1)
    except BaseException:
        kind, value, where = sys.exc_info()
        while where is not None and _own(where.tb_frame.f_code.co_filename):
            where = where.tb_next
        assert kind is not None and value is not None
        sys.excepthook(kind, value.with_traceback(where), where)
        _leave(1)
    sys.stdout.flush()
    sys.stderr.flush()


def _own(path: str) -> bool:
    return path.startswith((str(HERE), "<frozen runpy>")) or path.endswith("runpy.py")


def _shortened(function: Any) -> Any:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{**kwargs, "timeout": datetime.timedelta(seconds=WAIT)})

    return called


def _leave(code: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def package_of(tree: str) -> None:
    """Let `onescience_check` be the tree, whatever is installed."""
    for name in [name for name in sys.modules if name.split(".")[0] in ("onescience_check", "tests")]:
        del sys.modules[name]
    package = types.ModuleType("onescience_check")
    package.__path__ = [tree]
    sys.modules["onescience_check"] = package
    sys.path.insert(0, tree)
