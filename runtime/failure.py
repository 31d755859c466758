"""When one rank fails, all ranks stop, and one message says why.

Each rank writes a heartbeat to the world's store and watches the next rank's. A rank that fails, or finds its
neighbour silent, claims the one place for the reason; the first claim is printed, and everybody leaves with a
non-zero status.
"""

import json
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from .errors import UserError, loader_died
from .language import local

_BEAT_SECONDS = 1.0
_SILENT_SECONDS = 20.0
_STUCK_SECONDS = 60.0  # without a step; longer where steps are long
_REASON = "failure"
LAUNCHER_PID = "ONESCIENCE_LAUNCHER_PID"
_leaving = threading.Lock()


class Watch:
    """Heartbeat of this rank and watch over the next, in a thread of its own.

    Args:
        rank: of this process.
        size: of the world; its store listens at MASTER_ADDR:MASTER_PORT.
    """

    def __init__(self, rank: int, size: int) -> None:
        import torch.distributed as dist

        self.rank, self.size = rank, size
        store = dist.TCPStore(
            os.environ["MASTER_ADDR"],
            int(os.environ["MASTER_PORT"]),
            is_master=False,
            timeout=timedelta(seconds=_SILENT_SECONDS),
        )
        self._store = dist.PrefixStore("onescience_check/watch", store)
        self._lock = threading.Lock()  # a store's connection serves one question at a time
        self._stopped = threading.Event()
        self._left = False
        self._since = self._longest = 0.0  # of steps; before the first one nobody is stuck
        self._silence = 1.0
        self._beat(0)
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the watch: this rank is done and its silence means nothing."""
        self._stopped.set()
        self._thread.join(timeout=_SILENT_SECONDS)
        with self._lock:
            self._store.set(f"beat/{self.rank}", "done")
        self.leave(_SILENT_SECONDS)

    def fail(self, reason: str) -> None:
        """Give `reason` as why the world stops, and print it if no rank gave one before."""
        claim = f"{self.rank}:{reason}"
        with self._lock:
            if self._store.compare_set(_REASON, "", claim).decode() == claim:
                print(local(reason), file=sys.stderr, flush=True)

    def step_done(self) -> None:
        """The main thread has done a step."""
        now = time.monotonic()
        if self._since:
            self._longest = max(self._longest, now - self._since)
        self._since, self._silence = now, 1.0

    def pause(self) -> None:
        """What comes now is no step and may take long."""
        self._since = 0.0

    def failed(self) -> bool:
        """True once any rank gave a reason."""
        with self._lock:
            return self._store.check([_REASON])

    def store_is_gone(self) -> str | None:
        """What to print when the store does not answer: rank 1 speaks for all."""
        return "rank 0, which keeps the store of the world, is gone; stopping" if self.rank == 1 else None

    def leave(self, limit: float = 3 * _BEAT_SECONDS + 2) -> None:
        """Count this rank out. The rank that keeps the store stays up to `limit` seconds until all are."""
        with self._lock:
            left = self._store.add("left", 0 if self._left else 1)
            self._left = True
        deadline = time.monotonic() + limit
        while self.rank == 0 and left < self.size and time.monotonic() < deadline:
            time.sleep(0.1)
            with self._lock:
                left = self._store.add("left", 0)

    def _beat(self, count: int) -> None:
        with self._lock:
            self._store.set(f"beat/{self.rank}", f"{count} process {os.getpid()} on {socket.gethostname()}")

    def _look_for_stuck_ranks(self) -> None:
        """Once no step was done for long, tell the others where this rank is; rank 0 says where all are."""
        from .stuck import describe, place

        silent = time.monotonic() - self._since
        if not self._since or silent < self._silence * max(_STUCK_SECONDS, 5 * self._longest):
            return
        with self._lock:
            self._store.set(f"at/{self.rank}", json.dumps(place()))
        if self.rank > 0:
            return
        time.sleep(2 * _BEAT_SECONDS)  # until all have told it
        places = {rank: self._read(f"at/{rank}") for rank in range(self.size)}
        told = {rank: tuple(json.loads(text)) for rank, text in places.items() if text}
        print(local(describe(told, silent)), file=sys.stderr, flush=True)
        self._silence *= 2

    def _run(self) -> None:
        neighbour = (self.rank + 1) % self.size
        parent = os.environ.get(LAUNCHER_PID)
        seen, since, count = "", time.monotonic(), 0
        while not self._stopped.wait(_BEAT_SECONDS):
            if parent is not None and os.getppid() != int(parent):
                _exit("the launcher is gone; stopping" if self.rank == 0 else None)
            count += 1
            try:
                self._beat(count)
                if self.failed():
                    self.leave()
                    _exit(None)
                self._look_for_stuck_ranks()
                state = self._read(f"beat/{neighbour}")
            except Exception:
                if self._stopped.is_set():
                    return
                _exit(self.store_is_gone())
            if state == "done" or state != seen:
                seen, since = state, time.monotonic()
            elif time.monotonic() - since > _SILENT_SECONDS and self.size > 1:
                who = seen.split(" ", 1)[1] if seen else "which never started"
                self.fail(f"rank {neighbour} ({who}) has not responded for {_SILENT_SECONDS:.0f} s; stopping")
                self.leave()
                _exit(None)

    def _read(self, key: str) -> str:
        with self._lock:
            return self._store.get(key).decode() if self._store.check([key]) else ""


class Guard:
    """What `stop_world_on_error` yields: tells it of the world once there is one."""

    def __init__(self) -> None:
        self.watch: Watch | None = None

    def start_watch(self, rank: int, size: int) -> Watch:
        """Watch over the world from here on."""
        self.watch = Watch(rank, size)
        return self.watch


@contextmanager
def stop_world_on_error() -> Iterator[Guard]:
    """Turn an error inside into one message for the whole world and exit status 1 on every rank.

    A `UserError` is printed as it is, any other exception with its traceback.
    """
    guard = Guard()
    try:
        yield guard
    except KeyboardInterrupt:
        _exit("interrupted" if int(os.environ.get("RANK", 0)) == 0 else None)
    except Exception as failure:
        error = loader_died(failure) or failure
        text = str(error) if isinstance(error, UserError) else traceback.format_exc().rstrip()
        rank = int(os.environ.get("RANK", 0))
        message = (
            f"error (rank {rank}): {text}" if int(os.environ.get("WORLD_SIZE", 1)) > 1 else f"error: {text}"
        )
        if guard.watch is None:
            # No world yet: every rank meets the same flags and files.
            _exit(message if rank == 0 or not isinstance(error, UserError) else None)
        _exit(_tell_others(guard.watch, error, message))
    if guard.watch is not None:
        guard.watch.stop()


def _tell_others(watch: Watch, error: Exception, message: str) -> str | None:
    """Give `message` as the reason unless another rank's failure is behind it. What is left to print."""
    try:
        deadline = time.monotonic() + _SILENT_SECONDS + 5
        while _is_broken_connection(error) and time.monotonic() < deadline and not watch.failed():
            time.sleep(_BEAT_SECONDS)  # a peer is gone; its watcher will say which
        watch.fail(message)
        watch.leave()
        return None
    except Exception:
        return watch.store_is_gone()


def _is_broken_connection(error: Exception) -> bool:
    import torch.distributed as dist

    if isinstance(error, UserError):
        return False
    words = ("connection closed by peer", "connection reset", "broken pipe", "gloo", "nccl", "timed out")
    return isinstance(error, dist.DistError) or any(word in str(error).lower() for word in words)


def _exit(message: str | None) -> None:
    _leaving.acquire()  # for good: the first thread to get here decides what is said last
    if message:
        print(local(message), file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)  # not sys.exit: other threads may be stuck in a collective that will never end
