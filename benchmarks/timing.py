"""Run a command in a process of its own; tables of what it took."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """Wall time in seconds, processor time in seconds, and the largest resident memory in MB, of one process."""

    seconds: float
    processor: float
    megabytes: float
    code: int


def measure(command: Sequence[str | Path], folder: Path, repeat: int = 1) -> Cost:
    """The run of `command` with the least wall time; its output is thrown away.

    Raises:
        SystemExit: the command could not run (exit code 2 or a signal, and 32 for Pylint's usage errors).
    """
    best: Cost | None = None
    for _ in range(repeat):
        start = time.perf_counter()
        process = subprocess.Popen(
            list(map(str, command)), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        error = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = code = os.waitstatus_to_exitcode(status)
        if code < 0 or b"Traceback" in error or b"No module named" in error:
            sys.exit(f"{' '.join(map(str, command))} failed with {code}:\n{error.decode(errors='replace')}")
        cost = Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, code)
        if best is None or cost.seconds < best.seconds:
            best = cost
    assert best is not None
    return best


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A Markdown table with aligned columns."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, ["-" * width for width in widths], *rows):
        print("| " + " | ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) + " |")
