"""The drop-path rates of the stages, and those of the original model."""

from __future__ import annotations

from collections.abc import Sequence

from ..language import tr
from ..tpstate.stage_models import Stack, stacks
from .model import DropPathRow, DropPathTable, Mark
from .subjects import Subject

_CLOSE = 1e-9
"""Rates are computed here and there from the same numbers: only rounding tells them apart."""


def drop_path_table(subject: Subject) -> DropPathTable:
    """One row for each stack of blocks that takes rates."""
    analysis = subject.analysis
    mine = [(stage, stack) for stage in subject.family.stages for stack in stacks(analysis, stage.cls)]
    theirs = stacks(analysis, subject.original) if subject.original is not None else []
    by_attr = {stack.attr: stack for stack in theirs}
    total, original_total = _total([stack for _, stack in mine]), _total(theirs)
    notes = []
    if subject.original is None:
        notes.append(tr("The original model was not found: there are no rates to compare with."))
    elif not theirs:
        notes.append(
            tr(
                "What %(original)s builds with its default arguments could not be computed.",
                original=subject.original.name,
            )
        )
    notes += [
        tr("No class has rank %(rank)s: its slice is unknown.", rank=rank) for rank in subject.family.gaps
    ]
    rated = [(stage, stack) for stage, stack in mine if stack.has_rates]
    is_unused = bool(mine and theirs) and not rated and not any(stack.has_rates for stack in theirs)
    if not rated:
        notes.append(tr("No stack of blocks is given drop-path rates."))
    rows: list[DropPathRow] = []
    starts: dict[str, int] = {}
    for stage, stack in rated:
        wanted = by_attr.get(stack.attr)
        parts = [other for _, other in rated if other.attr == stack.attr]
        expected = _expected(wanted, parts, starts.get(stack.attr, 0), stack)
        starts[stack.attr] = starts.get(stack.attr, 0) + len(stack.rates or ())
        wrong = any(
            f.symbol == "drop-path-not-from-total-depth" and (f.place.path, f.place.line) == _line(stack)
            for f in subject.findings
        )
        rows.append(
            DropPathRow(
                stage.cls.name,
                stack.attr or stack.style,
                stack.rated,
                _rates(stack.rates),
                _slice(stack.rates, total),
                _rates(expected),
                _slice(expected, original_total),
                Mark.NO if wrong else _mark(stack.rates, expected),
            )
        )
    return DropPathTable(total, original_total, is_unused, tuple(rows), tuple(notes))


def _line(stack: Stack) -> tuple[str, int]:
    return stack.site.module.display, stack.site.node.lineno


def _total(found: list[Stack]) -> int | None:
    depths = [stack.rated for stack in found]
    return None if not depths or None in depths else sum(depth or 0 for depth in depths)


def _expected(wanted: Stack | None, parts: list[Stack], start: int, stack: Stack) -> tuple[float, ...] | None:
    """The rates that the original gives these blocks; a layer may be split over stages."""
    if wanted is None or wanted.rates is None or any(part.rates is None for part in parts):
        return None
    if sum(len(part.rates or ()) for part in parts) != len(wanted.rates):
        return wanted.rates
    return wanted.rates[start : start + len(stack.rates or ())]


def _mark(rates: tuple[float, ...] | None, expected: tuple[float, ...] | None) -> Mark:
    if rates is None or expected is None:
        return Mark.OPEN
    same = len(rates) == len(expected)
    return (
        Mark.YES
        if same and all(abs(a - b) < _CLOSE for a, b in zip(rates, expected, strict=True))
        else Mark.OPEN
    )


def _rates(rates: Sequence[float] | None) -> str:
    if not rates:
        return "?"
    text = f"{rates[0]:.4g}"
    return text if len(rates) == 1 else f"{text} … {rates[-1]:.4g} ({len(rates)})"


def _slice(rates: tuple[float, ...] | None, total: int | None) -> str:
    """Which blocks of one ramp over all blocks have these rates; "?" where the ramp cannot be told."""
    if rates is None or total is None or len(rates) < 2 or total < 2:
        return "?"
    step = (rates[-1] - rates[0]) / (len(rates) - 1)
    if step <= 0:
        return "constant"
    first = round(rates[0] / step)
    even = all(abs(rate - step * (first + index)) < _CLOSE for index, rate in enumerate(rates))
    return (
        tr("[%(first)s:%(last)s] of %(total)s", first=first, last=first + len(rates), total=total)
        if even and first + len(rates) <= total
        else tr("no slice of one ramp")
    )
