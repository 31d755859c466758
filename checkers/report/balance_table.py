"""The work of the stages against each other."""

from __future__ import annotations

from typing import Any

from ..language import listed, tr
from ..project.stages import Stage
from ..tpstate.stage_balance import as_started, patch_cost, weighed
from ..tpstate.stage_models import KEPT_BY_ALL_RANKS, KEPT_SPLIT, Stack, stacks
from .model import BalanceRow, BalanceTable, BoundaryTable, Mark
from .subjects import Subject

TOLERANCE = 0.2
"""Of the mean: the guide allows 20 %."""


OTHER_SIZES = tr(
    "The script gives the stages other sizes than their default arguments: the work with these is not known."
)

KEPT_MEANS = tr(
    "Kept: what the blocks keep for backward of one sample, estimated as "
    "%(numbers)s numbers of 16 bits a token and channel, as in a transformer block "
    "(%(whole)s + %(split)s / tp with tensor parallelism; less where "
    "layers are recomputed). 1F1B keeps p - r micro-batches on rank r of p.",
    numbers=KEPT_BY_ALL_RANKS + KEPT_SPLIT,
    whole=KEPT_BY_ALL_RANKS,
    split=KEPT_SPLIT,
)


def balance_table(subject: Subject, boundaries: BoundaryTable) -> BalanceTable:
    """One row for each stage; without figures, and with the reason, where one of them is not known."""
    family = subject.family
    given: list[dict[str, Any]] = [{} for _ in family.stages]
    built = _built(subject, given)
    sizes = tr("default arguments")
    if _has_other_sizes(built, boundaries):
        given, sizes = as_started(subject.analysis, family), tr("sizes of the script")
        built = _built(subject, given)
    if _has_other_sizes(built, boundaries):
        rows = tuple(
            BalanceRow(stage.cls.name, _layers(own), None, None, None, Mark.OPEN) for stage, own in built
        )
        return BalanceTable("", rows, (OTHER_SIZES,))
    notes = [tr("No class has rank %(rank)s: its work is unknown.", rank=rank) for rank in family.gaps]
    if not family.ordered:
        notes.append(tr("The stages are told apart at run time, so their work cannot be compared."))
    if any(_kept(own) for _, own in built):
        notes.append(KEPT_MEANS)
    patches = [
        patch_cost(subject.analysis, stage.cls, own) for stage, own in zip(family.stages, given, strict=True)
    ]
    found = weighed(built, sizes, patches)
    if found is None or not family.ordered:
        notes += [text for stage, own in built for text in _unknown(stage.cls.name, own, sizes)]
        rows = tuple(
            BalanceRow(stage.cls.name, _layers(own), None, None, _kept(own), Mark.OPEN)
            for stage, own in built
        )
        return BalanceTable("", rows, tuple(notes))
    if not found.is_estimate:
        unknown = sorted({name for _, own in built for stack in own for name in _missing(stack)})
        notes.append(
            tr(
                "Blocks are counted, since %(unknown)s is not known with %(sizes)s.",
                unknown=listed(", ", unknown),
                sizes=sizes,
            )
        )
    notes.append(
        tr(
            "Patch embeddings and recoveries are counted, other embedding, sampling and recovery layers are not."
        )
        if found.is_estimate and any(patches)
        else tr("Embedding, sampling and recovery layers are not counted.")
    )
    costs = dict(found.costs)
    rows = tuple(
        BalanceRow(
            stage.cls.name,
            _layers(own),
            costs[stage],
            1 + found.deviation(stage),
            _kept(own),
            Mark.YES if abs(found.deviation(stage)) <= TOLERANCE else Mark.NO,
        )
        for stage, own in built
    )
    return BalanceTable(found.method, rows, tuple(notes), found.is_estimate)


def _built(subject: Subject, given: list[dict[str, Any]]) -> list[tuple[Stage, list[Stack]]]:
    """What the stages build with these arguments in place of their defaults."""
    stages = subject.family.stages
    return [
        (stage, stacks(subject.analysis, stage.cls, own)) for stage, own in zip(stages, given, strict=True)
    ]


def _has_other_sizes(built: list[tuple[Stage, list[Stack]]], boundaries: BoundaryTable) -> bool:
    """Whether what crosses the boundaries has numbers of tokens that no stack has."""
    known = {stack.tokens for _, own in built for stack in own}
    sent = {row.tokens for row in boundaries.rows} - {None}
    return None not in known and bool(sent) and not sent & known


def _layers(own: list[Stack]) -> str:
    return ", ".join(
        f"{stack.attr or stack.style} × {stack.depth if stack.depth is not None else '?'}" for stack in own
    )


def _kept(own: list[Stack]) -> int | None:
    sizes = [stack.kept_bytes for stack in own]
    return None if None in sizes or not sizes else sum(size or 0 for size in sizes)


def _unknown(name: str, own: list[Stack], sizes: str) -> list[str]:
    if not own:
        return [tr("%(name)s: no stack of blocks was found in what it builds.", name=name)]
    return [
        tr(
            "%(name)s: the number of blocks of %(text)s is not known with %(sizes)s.",
            name=name,
            text=stack.attr or stack.style,
            sizes=sizes,
        )
        for stack in own
        if stack.depth is None
    ]


def _missing(stack: Stack) -> list[str]:
    values = {
        tr("the width"): stack.dim,
        tr("the number of tokens"): stack.tokens,
        tr("the window"): stack.window,
    }
    return [name for name, value in values.items() if value is None]
