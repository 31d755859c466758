"""Traces: the collectives that a function enters, in order, and what is asked of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .collectives import Collective
from .frames import Frame
from .names import Axes


@dataclass(frozen=True, eq=False)
class Item:
    """One step of a trace: a collective, a call that may enter some, a loop, or a test on something else.

    `node` is the call in the function that was asked about, however deep the collective lies.
    """

    kind: str
    text: str
    node: ast.AST
    axes: Axes | None = None
    parts: tuple[tuple[Item, ...], ...] = ()
    inner: Collective | None = None
    where: Frame | None = None


Trace = tuple[Item, ...]


def moved(item: Item, node: ast.AST) -> Item:
    parts = tuple(tuple(moved(inner, node) for inner in part) for part in item.parts)
    return Item(item.kind, item.text, node, item.axes, parts, item.inner, item.where)


def axes_in(trace: Trace) -> Iterator[Axes]:
    for item in trace:
        if item.kind == "collective" and item.axes:
            yield item.axes
        for part in item.parts:
            yield from axes_in(part)


def shape(trace: Trace, group: Axes) -> tuple[object, ...]:
    """What a trace enters of one group, to be compared."""
    found: list[object] = []
    for item in trace:
        if item.kind == "collective" and item.axes == group:
            found.append(item.text)
        elif item.parts:
            parts = tuple(shape(part, group) for part in item.parts)
            if item.kind == "branch" and len(set(parts)) == 1:
                found += parts[0]  # the same whichever way the test goes
            elif any(parts):
                found.append((item.kind, item.text, parts))
    return tuple(found)


def calls_in(trace: Trace) -> list[str]:
    """The calls of a trace that may enter collectives nobody can see."""
    return [
        name
        for item in trace
        for name in (
            [item.text] if item.kind == "call" else [n for part in item.parts for n in calls_in(part)]
        )
    ]


def entered(trace: Trace, group: Axes) -> list[Item]:
    """The collectives of one group in a trace, loops and branches opened."""
    return [
        inner
        for item in trace
        for inner in (
            [item]
            if item.kind == "collective" and item.axes == group
            else [i for part in item.parts for i in entered(part, group)]
        )
    ]
