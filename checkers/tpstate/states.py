"""What one TP rank holds, and the chain of evidence for it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


@dataclass(unsafe_hash=True, slots=True)
class Step:
    """One link of a chain of evidence; `before` are the steps it rests on.

    Links are told apart by their own place and text: chains share their tails, and comparing them whole would take
    exponential time.
    """

    path: str
    line: int
    text: str
    before: tuple[Step, ...] = field(default=(), compare=False)

    def chain(self) -> list[Step]:
        """The steps oldest first, each once."""
        seen: list[Step] = []

        def walk(step: Step, depth: int) -> None:
            if depth < 12:
                for earlier in step.before:
                    walk(earlier, depth + 1)
            if step not in seen:
                seen.append(step)

        walk(self, 0)
        return seen


class State(enum.Enum):
    """What one TP rank holds of a tensor."""

    FULL = "full"
    SHARDED = "split across the TP ranks"
    PARTIAL = "a partial sum"
    UNKNOWN = "unknown"


@dataclass(unsafe_hash=True, slots=True)
class Tokens:
    """The tokens one rank holds under sequence parallelism.

    `held` is `own` or `all`; `key` is the open condition that switches it on, empty where nothing does; `first`:
    they lie along the first dimension.
    """

    held: str
    key: str
    first: bool = True
    why: Step | None = field(default=None, compare=False)
