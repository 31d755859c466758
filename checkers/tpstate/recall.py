"""Runs that are left out because an earlier one stands for them, and runs that are put off until they are asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from .events import Event
from .frames import OutOfFuel
from .interpreter import Interpreter
from .summaries import Reads, Summaries
from .values import Value

DELAYED_FUEL = 3_000
"""Steps for the constructor of something that holds no parallel layer."""


def recalled(interp: Interpreter, summaries: Summaries, key: Any) -> Value | None:
    """The result of an earlier run that stands for this one."""
    summary = summaries.find(key, interp.branch, interp.choice)
    if summary is None:
        return None
    if interp.reads:
        for name in (*summary.known, *summary.open):
            interp.reads[-1].note(name)
    return summary.result


def recorded(
    interp: Interpreter,
    summaries: Summaries,
    key: Any,
    run: Callable[[], Value],
    lasts: Callable[[Value, list[Event]], bool],
) -> Value:
    """Run a function and keep its result where it `lasts`, which is asked with what was logged."""
    reads = Reads(interp.branch, interp.choice, interp.depth)
    before = len(interp.log.events)
    interp.reads.append(reads)
    try:
        result = run()
    finally:
        interp.reads.pop()
        if interp.reads:
            for name in reads.seen:
                interp.reads[-1].note(name)
    events = interp.log.events[before:]
    if not reads.partial and lasts(result, events):
        summaries.keep(key, result, reads, bool(events))
    return result


def cut(interp: Interpreter, depth: int) -> None:
    """A call is left out because of what runs at `depth`: no result of what runs below it is the whole one."""
    for reads in interp.reads:
        if reads.depth >= depth:
            reads.partial = True


def later(interp: Interpreter, run: Callable[[], Any]) -> Callable[[], None]:
    """`run` as it would go here, to be called at another place: what it writes stands whatever is undone there."""
    here = (interp.branch, interp.choice, interp.frame, interp.depth, interp.catching)

    def action() -> None:
        there = (interp.branch, interp.choice, interp.frame, interp.depth, interp.catching)
        outer = (interp.journals, interp.exits, interp.reads, interp.shares, interp.fuel)
        given = min(max(interp.fuel, 0), DELAYED_FUEL)
        interp.branch, interp.choice, interp.frame, interp.depth, interp.catching = here
        interp.journals, interp.exits, interp.reads, interp.shares, interp.fuel = [], [], [], [], given
        try:
            with contextlib.suppress(OutOfFuel):  # what it did not reach is unknown, for this instance alone
                run()
        finally:
            used = given - max(interp.fuel, 0)
            interp.branch, interp.choice, interp.frame, interp.depth, interp.catching = there
            interp.journals, interp.exits, interp.reads, interp.shares, interp.fuel = outer
            interp.fuel -= used

    return action
