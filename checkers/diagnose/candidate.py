"""A place in this project that may be the cause, and what speaks for it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..finding import Finding
from .sources import Sources, SourceText


@dataclass(frozen=True)
class Reason:
    """Why a place is suspected: the key of a sentence in both languages, and its fields."""

    key: str
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Hint:
    """One thing that speaks for a place."""

    path: str
    line: int
    weight: float
    reason: Reason
    finding: Finding | None = None


@dataclass
class Cause:
    """A statement of this project, with everything that speaks for it."""

    path: str
    line: int
    end: int
    weight: float = 0.0
    reasons: list[Reason] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    code: str = ""
    kinds: set[str] = field(default_factory=set)  # of hints, each of which counts once

    def add(self, hint: Hint) -> None:
        """The strongest hint counts whole, each further kind of hint a fifth of its own weight."""
        if hint.finding is not None and hint.finding not in self.findings:
            self.findings.append(hint.finding)
        if hint.reason.key not in self.kinds:
            high, low = max(self.weight, hint.weight), min(self.weight, hint.weight)
            self.weight = high + 0.2 * low
            self.kinds.add(hint.reason.key)
        if hint.reason not in self.reasons:
            self.reasons.append(hint.reason)


def reason(key: str, **fields: object) -> Reason:
    """A reason by its key."""
    return Reason(key, tuple((name, str(value)) for name, value in fields.items()))


def gather(hints: Iterable[Hint], sources: Sources) -> list[Cause]:
    """One cause for each statement, the likeliest first."""
    made: dict[tuple[str, int], Cause] = {}
    for hint in sorted(hints, key=lambda hint: -hint.weight):
        source = sources.text(hint.path)
        start, end = _span(hint, source)
        key = (os.path.abspath(hint.path), start)
        if key not in made:
            code = (
                source.lines[hint.line - 1].strip() if source and 0 < hint.line <= len(source.lines) else ""
            )
            made[key] = Cause(hint.path, hint.line, end, code=code)
        made[key].add(hint)
    return sorted(made.values(), key=lambda cause: (-cause.weight, cause.path, cause.line))


def _span(hint: Hint, source: SourceText | None) -> tuple[int, int]:
    if source is None or source.tree is None or not hint.path.endswith(".py"):
        return hint.line, hint.line
    return source.statement(hint.line)
