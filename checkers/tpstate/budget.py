"""How much of a root's fuel what it calls may use: what holds no parallel layer must not starve what does.

A module below the root gets a part of the steps: it is a root itself, and its layers are judged there. A
function that is no such module's (a kernel loader, a logger, a cache of plans) gets less, and those it calls a part of
that; a module that it calls is paid by the module above it. What does not end on its share is unknown for that call,
what it wrote is undone, and after the second time it is not tried again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .callables import Func
from .frames import Journal, OutOfFuel
from .interpreter import Interpreter
from .values import UNKNOWN, Value

MODULE_FUEL, HELPER_FUEL, NESTED_FUEL = 2_000, 2_000, 600
"""Steps for a module that may hold parallel layers, and for any other function, called by the root or further below."""

TRIES = 2

FAIR = 500
"""A share below this proves nothing of a function that did not end on it."""


@dataclass
class Share:
    """A call that runs on a part of the steps: `held` are those that its caller keeps for itself."""

    held: int
    is_helper: bool


def within(interp: Interpreter, func: Func, run: Callable[[], Value]) -> Value:
    """Run a function on its share of the fuel."""
    if interp.needed is None or interp.depth == 0 or interp.root is None:
        return run()
    owner = func.owner
    if owner is not None and owner in interp.project.mro(interp.root):
        return run()
    is_helper = owner is None or not (interp.project.is_module_class(owner) and interp.needed(owner))
    failures, node = interp.failures, id(func.node)
    if failures[node] >= TRIES:
        interp.spend()
        return UNKNOWN
    payer = None if is_helper else _payer(interp)
    left = interp.fuel if payer is None else interp.fuel + payer.held
    most = MODULE_FUEL if not is_helper else NESTED_FUEL if interp.shares else HELPER_FUEL
    given = min(most, left // 2)
    share, journal, failed = Share(interp.fuel - given, is_helper), Journal(), interp.failed
    interp.fuel = given
    interp.shares.append(share)
    interp.journals.append(journal)
    try:
        result = run()
    except OutOfFuel:
        interp.undo(journal)
        if given >= FAIR and interp.failed == failed:  # else it failed for what it called
            failures[node] += 1
            interp.failed += 1
        result = UNKNOWN
    finally:
        interp.journals.pop()
        interp.shares.pop()
        interp.keep(journal)
        used = given - interp.fuel
        interp.fuel += share.held
        if payer is not None:
            interp.fuel += used
            payer.held -= used
    return result


def _payer(interp: Interpreter) -> Share | None:
    """The outermost of the helpers between a module that is called and the module above it."""
    found = None
    for share in reversed(interp.shares):
        if not share.is_helper:
            break
        found = share
    return found
