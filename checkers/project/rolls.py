"""Cyclic shifts (`torch.roll`) of a function, and which of them are meant to undo others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ModuleFacts
from .project import dotted_name
from .scopes import lines_with, nodes_near


@dataclass(frozen=True, eq=False)
class Roll:
    """`torch.roll(operand, shifts, dims)`: one shift for each axis, as it is written."""

    node: ast.Call
    shift_nodes: tuple[ast.expr, ...]
    shifts: tuple[str, ...]
    dims: tuple[str, ...]

    @property
    def is_forward(self) -> bool:
        """Whether every axis moves towards its start: what a shifted-window block does first."""
        return all(shift.startswith("-") or shift == "0" for shift in self.shifts)

    @property
    def is_reverse(self) -> bool:
        return not any(shift.startswith("-") for shift in self.shifts)


def rolls_of(module: ModuleFacts) -> Iterator[tuple[ast.FunctionDef, list[Roll]]]:
    """The rolls of every function that has some, in source order."""
    lines = lines_with(module.text, "roll(")
    if not lines:
        return
    found: dict[ast.FunctionDef, list[Roll]] = {}
    functions: list[ast.FunctionDef] = []
    for node in nodes_near(module.tree, lines):
        if isinstance(node, ast.FunctionDef):
            functions.append(node)
        elif isinstance(node, ast.Call) and (roll := _read(node)) is not None:
            around = [f for f in functions if f.lineno <= node.lineno <= (f.end_lineno or 0)]
            if around:
                found.setdefault(around[-1], []).append(roll)
    for function, rolls in found.items():
        yield function, sorted(rolls, key=lambda roll: roll.node.lineno)


def of_two_methods(
    module: ModuleFacts, found: list[tuple[ast.FunctionDef, list[Roll]]]
) -> Iterator[tuple[ast.FunctionDef, list[Roll]]]:
    """The two rolls of a class that shifts in one method and restores in another, with the one that restores.

    The same for the only two functions of a file that roll, where the name of the second says that it restores.
    """
    for cls in module.classes.values():
        own = [(function, rolls) for function, rolls in found if cls.methods.get(function.name) is function]
        if len(own) == 2 and all(len(rolls) == 1 for _, rolls in own):
            yield own[1][0], [roll for _, rolls in own for roll in rolls]
    top = [(function, rolls) for function, rolls in found if function in module.tree.body]
    if len(found) == len(top) == 2 and all(len(rolls) == 1 for _, rolls in top):
        if _RESTORES.search(top[1][0].name) and not _RESTORES.search(top[0][0].name):
            yield top[1][0], [roll for _, rolls in top for roll in rolls]


def same_again(rolls: list[Roll]) -> bool:
    """Whether of two functions that shift and restore, the second shifts in the same direction once more."""
    return len(rolls) == 2 and _same(*rolls) and all(roll.is_forward for roll in rolls)


def half_undone(function: ast.FunctionDef, rolls: list[Roll], alone: bool) -> Iterator[tuple[Roll, str]]:
    """Rolls of a function after which its axes are not where they were: the roll, and what is wrong with it.

    `alone` says that no other function of the file rolls.
    """
    forward = [roll for roll in rolls if roll.is_forward and not roll.is_reverse]
    backward = [roll for roll in rolls if roll.is_reverse and not roll.is_forward]
    if len(rolls) == 2 and _same(*rolls):
        if len(forward) == 2 or (len(backward) == 2 and _attends_between(function, *rolls)):
            yield rolls[1], "again"
    yield from left_out(rolls)
    if (
        len(rolls) == 1
        and forward
        and alone
        and _rolls_once(function)
        and any(_MERGES.search(name) for name in _called_behind(function, rolls[0]))
    ):
        yield rolls[0], "never"


def _rolls_once(function: ast.FunctionDef) -> bool:
    """Whether no other call may shift back: `torch.roll(x, shifts=self.shift_size, …)` names no single shifts."""
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return sum((dotted_name(call.func) or "").rsplit(".", 1)[-1] == "roll" for call in calls) == 1


def left_out(rolls: list[Roll]) -> Iterator[tuple[Roll, str]]:
    """The second of two rolls, where it restores some of the axes that the first shifted; and the others."""
    if len(rolls) != 2 or not rolls[0].is_forward or rolls[0].is_reverse or not rolls[1].is_reverse:
        return
    there = {
        dim: shift.lstrip("-")
        for dim, shift in zip(rolls[0].dims, rolls[0].shifts, strict=True)
        if shift != "0"
    }
    back = dict(zip(rolls[1].dims, rolls[1].shifts, strict=True))
    if back.items() < there.items():
        yield rolls[1], ", ".join(dim for dim in there if dim not in back)


def _attends_between(function: ast.FunctionDef, first: Roll, second: Roll) -> bool:
    """Whether windows are made, or attended in, between two rolls by names: not the two halves of a spectrum."""
    if any(shift.isdigit() for shift in first.shifts):
        return False
    return any(
        isinstance(node, ast.Call)
        and first.node.lineno < node.lineno < second.node.lineno
        and _WINDOWS.search((dotted_name(node.func) or "").lower()) is not None
        for node in ast.walk(function)
    )


_WINDOWS = re.compile(r"attn|attention|window|merge|partition")

_RESTORES = re.compile(r"(^|_)(merge|join|reverse|restore|undo|unshift|unpartition|departition)")

_MERGES = re.compile(r"(^|_)(merge|reverse|unpartition|departition)")


def _same(one: Roll, other: Roll) -> bool:
    return (one.shifts, one.dims) == (other.shifts, other.dims) and any(shift != "0" for shift in one.shifts)


def _called_behind(function: ast.FunctionDef, roll: Roll) -> Iterator[str]:
    """The functions and methods that are called below a roll."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and node.lineno > roll.node.lineno:
            yield (dotted_name(node.func) or "").rsplit(".", 1)[-1]


def _read(node: ast.Call) -> Roll | None:
    """A roll over two axes or more: window shifts; single ones are sequences and finite differences."""
    name = dotted_name(node.func) or ""
    is_function = name == "torch.roll"
    if not is_function and not (isinstance(node.func, ast.Attribute) and node.func.attr == "roll"):
        return None
    given = dict(
        zip(("input", "shifts", "dims") if is_function else ("shifts", "dims"), node.args, strict=False)
    )
    given.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg})
    shifts, dims = _items(given.get("shifts")), _items(given.get("dims"))
    if not shifts or not len(shifts) == len(dims) > 1:
        return None
    return Roll(node, tuple(given["shifts"].elts), shifts, dims)  # type: ignore[attr-defined]


def _items(node: ast.expr | None) -> tuple[str, ...]:
    if not isinstance(node, ast.Tuple | ast.List):
        return ()
    parts = tuple(_simple(item) for item in node.elts)
    return parts if all(parts) else ()


def _simple(node: ast.expr) -> str:
    """A name, an attribute, an item of one or a number, with or without a minus; "" for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _simple(node.operand)
        return "" if not inner or inner.startswith("-") else f"-{inner}"
    is_item = (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and dotted_name(node.value) is not None
    )
    is_number = isinstance(node, ast.Constant) and type(node.value) is int
    return ast.unparse(node) if is_item or is_number or dotted_name(node) is not None else ""


def undone_otherwise(
    rolls: list[Roll], restoring: bool = False
) -> Iterator[tuple[Roll, Roll, dict[int, str]]]:
    """Rolls that do not undo each other: the odd one of the two, the other, and what the odd one's axes should be.

    A shift that only has another name may be the same number: what counts is that one axis takes the shift of
    another, or that both are numbers. With `restoring` the odd one is always the one that restores.
    """
    for reverse in rolls:
        forward = _shifted_before(rolls, reverse)
        if forward is None:
            continue
        there = dict(zip(forward.dims, forward.shifts, strict=True))
        back = dict(zip(reverse.dims, reverse.shifts, strict=True))
        names = [{shift.lstrip("-") for shift in roll.shifts} for roll in (forward, reverse)]
        wrong = [dim for dim in back if _is_wrong(there[dim], back[dim], *names)]
        if wrong:
            others = [roll for roll in rolls if roll not in (forward, reverse) and roll.dims == reverse.dims]
            odd, other = reverse, there
            if not restoring and reverse.is_reverse and _is_odd(forward, reverse, others):
                odd, other = forward, back
            entries = {odd.dims.index(dim): _opposite(other[dim]) for dim in wrong}
            yield odd, forward if odd is reverse else reverse, entries


def _shifted_before(rolls: list[Roll], reverse: Roll) -> Roll | None:
    """The roll that another one is to undo: the last before it that shifts the same axes towards their start.

    One that moves some axes back and some on once more is taken for it where it is the only other one.
    """
    if reverse.is_forward or not (reverse.is_reverse or len(rolls) == 2):
        return None
    before = [
        roll
        for roll in rolls
        if roll.node.lineno < reverse.node.lineno and roll.is_forward and set(roll.dims) == set(reverse.dims)
    ]
    return before[-1] if before else None


def _is_wrong(shift: str, back: str, theirs: set[str], mine: set[str]) -> bool:
    """Whether an axis is moved back by the shift of another one, by another number, or moved on once more."""
    there, here = shift.lstrip("-"), back.lstrip("-")
    if there == here:
        return back.startswith("-") and back == shift
    return there in mine or here in theirs or (there.isdigit() and here.isdigit())


def _opposite(shift: str) -> str:
    return shift if shift == "0" else shift[1:] if shift.startswith("-") else f"-{shift}"


def _is_odd(forward: Roll, reverse: Roll, others: list[Roll]) -> bool:
    """Whether the first roll is the wrong one of the two: it names one axis twice, or its axes out of their order.

    What cannot be told by the names is told by the other rolls of the same axes; else the one that restores is odd.
    """
    if forward.dims != reverse.dims:
        return forward.dims != tuple(sorted(forward.dims)) and reverse.dims == tuple(sorted(reverse.dims))
    there, back = ([shift.lstrip("-") for shift in roll.shifts] for roll in (forward, reverse))
    twice = [len(names) - len(set(names)) for names in (there, back)]
    if twice[0] != twice[1]:
        return twice[0] > twice[1]
    ranks = [[_rank(name) for name in names] for names in (there, back)]
    if None not in ranks[0] and None not in ranks[1]:
        ordered = [found == sorted(found, key=lambda rank: rank or 0) for found in ranks]
        if ordered[0] != ordered[1]:
            return ordered[1]
    seen = [[shift.lstrip("-") for shift in roll.shifts] for roll in others]
    return back in seen and there not in seen


_ORDER = (
    ("z", "pl", "level", "pressure", "depth", "d"),
    ("y", "lat", "latitude", "row", "rows", "h", "height"),
    ("x", "lon", "longitude", "column", "columns", "w", "width"),
)
"""Words of the axes of a weather grid or an image, in the order in which tensors hold them."""


def _rank(name: str) -> int | None:
    """Which axis a shift is named for: by a word, or by the index of an item; None where its name says nothing."""
    item = re.search(r"\[(\d+)\]$", name)
    if item is not None:
        return int(item[1])
    words = re.split(r"[._]", name.lower())
    return next((rank for rank, group in enumerate(_ORDER) if any(word in group for word in words)), None)
