"""Processes for the user's code: forked from this one, with a time limit, a memory limit and no orphan.

Torch and Megatron take seconds to import, so they are imported once, before the first fork.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import os
import pickle
import re
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

_PR_SET_PDEATHSIG = 1
_GRACE = 3.0  # seconds for the other ranks to say what they wait for, once one has failed
_POLL = 0.2


@dataclass
class Outcome:
    """How a process ended.

    Args:
        value: what its function returned; None if it did not.
        error: the traceback of an error in the verification itself.
        death: how it ended without a result, in words; "" if it gave one.
        stack: (path, line, function) of what it was doing when it was stopped, innermost first.
        doing: what it said last that it was doing.
        seconds: how long it ran.
    """

    value: dict | None = None
    error: str = ""
    death: str = ""
    stack: list[tuple[str, int, str]] = field(default_factory=list)
    doing: str = ""
    printed: str = ""
    seconds: float = 0.0


class _Child:
    """One forked process."""

    def __init__(self, work: Callable[[], dict], folder: Path, number: int, memory: float) -> None:
        self.started = time.monotonic()
        self.output, self.dump = folder / f"{number}.out", folder / f"{number}.stack"
        self.doing = folder / f"{number}.doing"
        self.received = bytearray()
        reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reader)
            _live(work, writer, self, memory, parent)
        os.close(writer)
        self.reader = reader

    def read(self) -> bool:
        """Take what there is to read; whether the process has closed its end."""
        part = os.read(self.reader, 1 << 20)
        self.received += part
        return not part

    def stop(self, ask: bool = False) -> None:
        """End the process and all that it started; with `ask`, let it write down where it is first."""
        if ask:
            _signal(self.pid, signal.SIGUSR1, group=False)
            time.sleep(0.3)
        _signal(self.pid, signal.SIGKILL)

    def outcome(self, late: str) -> Outcome:
        """Wait for its end, which is near."""
        os.close(self.reader)
        _, status = os.waitpid(self.pid, 0)
        _signal(self.pid, signal.SIGKILL)  # what it left behind
        found = Outcome(seconds=time.monotonic() - self.started, printed=_text(self.output)[-2000:])
        found.doing = _text(self.doing).strip()
        try:
            kind, value = pickle.loads(bytes(self.received))
        except Exception:
            kind, value = "", None
        if kind == "value":
            found.value = value
        elif kind == "error":
            found.error = value
        else:
            found.death = late or _death(status)
            found.stack = _frames(_text(self.dump))
        return found


def _live(work: Callable[[], dict], writer: int, child: _Child, memory: float, parent: int) -> None:
    """What the forked process does; it never returns."""
    code, end = 1, os._exit
    try:
        os.setpgid(0, 0)
        die_with(parent)
        gc.freeze()  # what is loaded stays: to look through all of torch for garbage takes seconds
        output = os.open(child.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdin = open(os.devnull)  # noqa: SIM115
        sys.stdout = sys.stderr = open(1, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
        stack = open(child.dump, "w")  # noqa: SIM115  kept open for the handler
        faulthandler.register(signal.SIGUSR1, file=stack, all_threads=False)
        faulthandler.enable(stack, all_threads=False)
        for name in ("_exit", "kill"):
            setattr(os, name, _with_stack(getattr(os, name), stack))
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if hasattr(resource, "RLIMIT_DATA"):
            resource.setrlimit(resource.RLIMIT_DATA, (int(memory * 2**30),) * 2)
        say_doing.file = os.open(child.doing, os.O_WRONLY | os.O_CREAT)
        try:
            message = ("value", work())
        except BaseException:
            message = ("error", traceback.format_exc())
        data = pickle.dumps(message)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(data)
        code = 0
    finally:
        sys.stdout.flush()
        end(code)


def _with_stack(end: Callable, stack: TextIO) -> Callable:
    """A call that may end this process, and leaves behind where it was made."""

    def noted(*args):
        faulthandler.dump_traceback(stack, all_threads=False)
        return end(*args)

    return noted


def die_with(parent: int) -> None:
    """Let this process end when that one does, whatever way it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def say_doing(text: str) -> None:
    """Leave a line behind in case this process hangs; "" for the end of what was said."""
    if say_doing.file >= 0:
        os.pwrite(say_doing.file, text.encode()[:300].ljust(300), 0)


say_doing.file = -1


def run(
    works: Sequence[Callable[[], dict]],
    limit: float,
    memory: float,
    together: bool = False,
    workers: int | None = None,
) -> list[Outcome]:
    """Run each function in a process of its own.

    Args:
        works: return picklable dicts; one with a true "failed" ends a world.
        limit: seconds for each.
        memory: GiB for each.
        together: they form one world: all start at once, and when one fails the others are stopped.
        workers: how many at a time, if not together.
    """
    at_once = len(works) if together else (workers or max(1, os.cpu_count() or 1))
    waiting = list(enumerate(works))
    running: dict[int, _Child] = {}
    done: dict[int, Outcome] = {}
    deadline_of_world = None
    with tempfile.TemporaryDirectory(prefix="onescience-verify-") as folder:
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    number, work = waiting.pop(0)
                    running[number] = _Child(work, Path(folder), number, memory)
                readable, _, _ = select.select([c.reader for c in running.values()], [], [], _POLL)
                for number, child in list(running.items()):
                    if child.reader in readable and child.read():
                        del running[number]
                        done[number] = child.outcome("")
                        value = done[number].value
                        if together and deadline_of_world is None and (value is None or value.get("failed")):
                            deadline_of_world = time.monotonic() + _GRACE
                now = time.monotonic()
                for number, child in list(running.items()):
                    over = now - child.started > limit
                    if over or (deadline_of_world is not None and now > deadline_of_world):
                        child.stop(ask=True)
                        del running[number]
                        late = f"did not end within {limit:g} s" if over else "waits for a rank that failed"
                        done[number] = child.outcome(late)
                        if over and together and deadline_of_world is None:
                            deadline_of_world = now
        finally:
            for child in running.values():
                child.stop()
                os.waitpid(child.pid, 0)
    return [done[number] for number in range(len(works))]


def _signal(pid: int, number: int, group: bool = True) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        (os.killpg if group else os.kill)(pid, number)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _frames(dump: str) -> list[tuple[str, int, str]]:
    last = dump.rpartition("(most recent call first)")[2]
    found = re.findall(r'File "(.*)", line (\d+) in (.*)', last)
    own = [(path, int(line), name.strip()) for path, line, name in found]
    return [frame for frame in own if frame[0] != __file__]


def _death(status: int) -> str:
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return f"was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
    return f"ended with status {os.waitstatus_to_exitcode(status)} and no result"
