"""Whether a parallel layer gets the kind of input it was built for."""

from __future__ import annotations

import enum
import re

from .choices import Choice
from .events import ParallelCall
from .provider_table import COLUMN, INFERENCE, Provider
from .states import State
from .symbols import Poly
from .values import NONE, TP, UNKNOWN, Const, Heap, Obj, Seq, Sym, Tensor, poly_of

GROUPS = ("tp_group", "parallel_group", "tp_size")
"""Arguments that name the group a layer of an inference engine is split over."""


class Verdict(enum.Enum):
    """The three answers of every rule."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "cannot tell"


def layer_row(layer: Obj) -> Provider | None:
    """The contract of an object, None when it is no parallel layer."""
    return layer.provider


def believes_split(event: ParallelCall) -> bool | None:
    """Whether a row-parallel layer takes its input as already split; None when that cannot be told."""
    row, given = event.row, event.layer.args.get("input_is_parallel")
    if given is None:
        has_none = "input_is_parallel" in row.required
        return None if has_none else True if row.parallel is None else row.parallel
    return bool(given.value) if isinstance(given, Const) and isinstance(given.value, bool) else None


def is_built_by(event: ParallelCall, *kinds: str) -> bool:
    """Whether the layer that was called is of one of these kinds."""
    return event.row.kind in kinds


def size(obj: Obj, row: Provider, which: int) -> Poly | None:
    """input_size (0) or output_size (1) of a parallel layer."""
    if row.fused or len(row.positional) < 2 or "head" in row.positional[1]:
        return None if which else poly_of(obj.args.get(row.positional[0], UNKNOWN))
    value = obj.args.get(row.positional[which], UNKNOWN)
    if isinstance(value, Heap) and row.kind == COLUMN and isinstance(value.content, Seq):
        return None
    return poly_of(value)


_ASKS_SIZE = re.compile(r"get_\w*(size|group)\(|\.size\(\)|\.world_size|mapping|parallel_state")


def is_alone(layer: Obj) -> bool:
    """Whether a layer of an inference engine is given a group of one rank, or takes one where it is given none."""
    source = layer.provider.source if layer.provider is not None else None
    built = source.methods.get("__init__") if source is not None else None
    if (
        source is not None
        and built is not None
        and not layer.args.keys() & {"tp_size", "tp_group", "parallel_group"}
    ):
        takes = any(arg.arg == "tp_size" for arg in (*built.args.args, *built.args.kwonlyargs))
        if takes and not _ASKS_SIZE.search(source.text):
            return True
    return layer.args.get("tp_size") == Const(1) or layer.args.get("parallel_group") == Const("replicated")


def group_of(layer: Obj, row: Provider) -> str | None:
    """The name of the group a layer of an inference engine is split over: empty for the TP group, None if unknown.

    Two layers that are given the same group agree, whatever it is.
    """
    if row.family != INFERENCE:
        return ""
    for name in GROUPS:
        value = layer.args.get(name, NONE)
        if isinstance(value, Sym):
            return "" if TP in value.tags else value.text
        if isinstance(value, Choice | Obj):
            return f"{name} {value}"
        if not isinstance(value, Const):
            return None
        if value.value is not None:
            return f"{name} {value.value}"
    return ""


def judge(event: ParallelCall) -> Verdict:
    """Compare what a row-parallel layer believes with what it is given."""
    told, given = believes_split(event), event.given
    if told is None or not isinstance(given, Tensor) or (given.role == "mixed cat" and not told):
        return Verdict.UNKNOWN
    if given.role == "mixed cat":
        return Verdict.WRONG
    if given.state is State.FULL:
        return Verdict.WRONG if told else Verdict.RIGHT
    if given.state is State.SHARDED:
        if given.group and given.group != group_of(event.layer, event.row):
            return Verdict.UNKNOWN
        return Verdict.RIGHT if told else Verdict.WRONG
    if given.role == "measured":
        return _by_width(given.width, size(event.layer, event.row, 0), told)
    return Verdict.UNKNOWN


def _by_width(held: Poly | None, takes: Poly | None, told: bool) -> Verdict:
    """By the channels that each rank is seen to hold, where their producer is unknown."""
    if held is None or takes is None:
        return Verdict.UNKNOWN
    if held == takes:
        return Verdict.WRONG if told else Verdict.RIGHT
    if held == takes.floor_divided(Poly.atom("tp")):
        return Verdict.RIGHT if told else Verdict.WRONG
    return Verdict.UNKNOWN
