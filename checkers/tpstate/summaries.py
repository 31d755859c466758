"""What the run of a function depended on, so that its result can stand for another run.

A result is kept under the function and its arguments, with those open conditions that the run asked for: conditions of
the caller that it never asked for may be anything. What a run logged is the caller's evidence, too: it stands for a
second caller only where it was logged under fewer conditions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .values import Value

Conditions = dict[str, bool]

MAX_KEPT = 12
"""Summaries of one function for the same arguments."""


@dataclass(eq=False)
class Reads:
    """The conditions a running function asked for, each as it stood when the function was entered.

    `partial` says that something below was cut short because of what ran above it.
    """

    branch: Conditions
    choice: Conditions
    depth: int
    seen: dict[str, bool | None] = field(default_factory=dict)
    partial: bool = False

    def note(self, key: str) -> None:
        """The running function asks whether a condition is known."""
        if key not in self.seen:
            side = self.branch.get(key)
            self.seen[key] = self.choice.get(key) if side is None else side


@dataclass(eq=False)
class Summary:
    """A result, and under which conditions it is the result."""

    result: Value
    known: Conditions
    open: frozenset[str]
    branch: Conditions | None
    choice: Conditions | None

    def holds(self, branch: Conditions, choice: Conditions) -> bool:
        """Whether a run under these conditions would go the same way, and would log nothing that is not there yet."""
        for key, side in self.known.items():
            if branch.get(key, choice.get(key)) is not side:
                return False
        if not (self.open.isdisjoint(branch) and self.open.isdisjoint(choice)):
            return False
        if self.branch is None or self.choice is None:
            return True
        return self.branch.items() <= branch.items() and self.choice.items() <= choice.items()


class Summaries:
    """Results by function and arguments."""

    def __init__(self) -> None:
        self._kept: dict[Any, list[Summary]] = {}

    def find(self, key: Any, branch: Conditions, choice: Conditions) -> Summary | None:
        """A result that stands for a run under these conditions."""
        for summary in self._kept.get(key, ()):
            if summary.holds(branch, choice):
                return summary
        return None

    def keep(self, key: Any, result: Value, reads: Reads, logged: bool) -> None:
        """Remember a result; `logged` says whether the run left events."""
        kept = self._kept.setdefault(key, [])
        if len(kept) < MAX_KEPT:
            known = {name: side for name, side in reads.seen.items() if side is not None}
            unknown = frozenset(name for name, side in reads.seen.items() if side is None)
            context = (reads.branch, reads.choice) if logged else (None, None)
            kept.append(Summary(result, known, unknown, *context))

    def clear(self) -> None:
        self._kept.clear()
