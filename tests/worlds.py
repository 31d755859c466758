"""Start worlds of several processes from a test, and never leave one behind."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)
_started: list[subprocess.Popen] = []


@dataclass
class Ended:
    """How a world ended."""

    code: int
    output: str
    seconds: float


def start(script: Path, size: int, *flags: str) -> subprocess.Popen:
    """Start `script` with `size` ranks in a process group of its own."""
    launcher = [sys.executable, "-m", "onescience_check.runtime.launch", "--nproc-per-node", str(size)]
    return open_process([*launcher, str(script), *map(str, flags)])


def open_process(
    command: Sequence[str], extra: Mapping[str, str] | None = None, **options
) -> subprocess.Popen:
    """Start `command` in a process group of its own. It ends with the test, also if that is killed.

    Args:
        command: its words.
        extra: environment variables besides those of this process.
        options: other arguments of ``subprocess.Popen``.
    """
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(
        command,
        env={**environment(), **(extra or {})},
        start_new_session=True,
        preexec_fn=_end_with_parent,
        **(streams | options),
    )
    _started.append(process)
    return process


def finish(process: subprocess.Popen, limit: float) -> Ended:
    """Wait for a started world; after `limit` seconds it is killed and the test fails."""
    started = time.monotonic()
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        kill(process)
        output, _ = process.communicate()
        raise AssertionError(f"the world did not end within {limit} s:\n{output[-3000:]}") from None
    return Ended(process.returncode, output, time.monotonic() - started)


def wait_for(
    condition: Callable[[], bool], *processes: subprocess.Popen, limit: float = 240, pause: float = 0.05
) -> None:
    """Wait until `condition` holds; the test fails if a process ends before, or after `limit` seconds."""
    deadline = time.monotonic() + limit
    while not condition():
        ended = [process for process in processes if process.poll() is not None]
        assert not ended, "".join(stream[-3000:] for stream in ended[0].communicate() if stream)
        assert time.monotonic() < deadline, f"the world did not get so far within {limit} s"
        time.sleep(pause)


def run(script: Path, size: int, *flags: str, limit: float = 120) -> Ended:
    """Start a world and wait for its end."""
    return finish(start(script, size, *flags), limit)


def kill(process: subprocess.Popen) -> None:
    """kill -9 for the launcher and all ranks at once."""
    os.killpg(process.pid, signal.SIGKILL)


def kill_all() -> None:
    """Kill what the test has not waited for."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            kill(process)
            process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def ranks(process: subprocess.Popen) -> dict[int, int]:
    """Process id of each rank of a started world."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return dict(enumerate(sorted(map(int, children))))  # started in the order of ranks


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment() -> dict[str, str]:
    """One thread per rank, because the ranks share few cores; and the ranks' scripts can import `tests`."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "PYTHONPATH": path}


def _end_with_parent() -> None:
    # Linux alone has this; a launcher that gets the signal stops its ranks.
    if hasattr(_libc, "prctl"):
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
