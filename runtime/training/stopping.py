"""When a run ends before its last iteration: on SIGTERM, and before its time is over."""

import signal
import time

import torch
import torch.distributed as dist

_STARTED = time.monotonic()


class EarlyStop:
    """Takes SIGTERM for a wish to save and end, and watches the time.

    Args:
        minutes: since the start of this process, None for no limit.
    """

    def __init__(self, minutes: float | None) -> None:
        self.deadline = None if minutes is None else _STARTED + 60 * minutes
        self.longest = {"step": 0.0, "save": 0.0}
        self.terminated = False
        self.before = signal.signal(signal.SIGTERM, self._take_note)

    def took(self, what: str, seconds: float) -> None:
        """A "step" or a "save" took so long: what must fit into the time that is left."""
        self.longest[what] = max(self.longest[what], seconds)

    def reason(self) -> str | None:
        """Why to save and end now, None to go on. Call it on every rank after every step: all get one answer."""
        over = self.deadline is not None and time.monotonic() + sum(self.longest.values()) > self.deadline
        wishes = torch.tensor([self.terminated, over], dtype=torch.int, device=torch.cuda.current_device())
        dist.all_reduce(wishes, op=dist.ReduceOp.MAX)
        terminated, over = wishes.tolist()
        return "SIGTERM" if terminated else "--exit-duration-in-mins" if over else None

    def close(self) -> None:
        """SIGTERM means what it meant before."""
        signal.signal(signal.SIGTERM, self.before)

    def _take_note(self, number: int, frame) -> None:
        self.terminated = True
