"""Start worlds of several processes from a test, and never leave one behind."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Ended:
    """How a world ended."""

    code: int
    output: str
    seconds: float


def start(script: Path, size: int, *flags: str) -> subprocess.Popen:
    """Start `script` with `size` ranks in a process group of its own."""
    command = [
        sys.executable,
        "-m",
        "onescience_check.runtime.launch",
        "--nproc-per-node",
        str(size),
        str(script),
    ]
    return subprocess.Popen(
        [*command, *map(str, flags)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


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


def run(script: Path, size: int, *flags: str, limit: float = 120) -> Ended:
    """Start a world and wait for its end."""
    return finish(start(script, size, *flags), limit)


def kill(process: subprocess.Popen) -> None:
    """kill -9 for the launcher and all ranks at once."""
    os.killpg(process.pid, signal.SIGKILL)


def ranks(process: subprocess.Popen) -> dict[int, int]:
    """Process id of each rank of a started world."""
    found = {}
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for child in children:
        for word in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
            if word.startswith(b"RANK="):
                found[int(word[5:])] = int(child)
    return found


def environment() -> dict[str, str]:
    """One thread per rank: the ranks share few cores."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
