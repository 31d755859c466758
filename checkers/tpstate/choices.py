"""Values that hang on an open condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .values import MAX_NESTED, UNKNOWN, Value, nested


@dataclass(frozen=True)
class Choice(Value):
    """One of two values, by a condition that could not be decided: `key` is its canonical text."""

    key: str
    then: Value
    other: Value

    @property
    def nested(self) -> int:
        return nested(self.then) + nested(self.other)


def choose(key: str, then: Value, other: Value) -> Value:
    """A Choice, or the value itself where both sides are the same; deep choices collapse to UNKNOWN."""
    if then == other:
        return then
    if leaves(then) + leaves(other) > 8 or nested(then) + nested(other) > MAX_NESTED:
        return UNKNOWN
    return Choice(key, then, other)


def leaves(value: Value) -> int:
    return leaves(value.then) + leaves(value.other) if isinstance(value, Choice) else 1


def alternatives(value: Value) -> Iterator[tuple[dict[str, bool], Value]]:
    """Every leaf of a Choice with the conditions under which it stands."""
    if not isinstance(value, Choice):
        yield {}, value
        return
    for branch, side in ((value.then, True), (value.other, False)):
        for conditions, leaf in alternatives(branch):
            if conditions.get(value.key, side) == side:
                yield {**conditions, value.key: side}, leaf
