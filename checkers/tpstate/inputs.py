"""Whether a parallel layer gets the kind of input it was built for."""

from __future__ import annotations

import enum

from .events import ParallelCall
from .provider_table import Provider
from .states import State
from .values import Const, Obj, Tensor


class Verdict(enum.Enum):
    """The three answers of every rule."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "cannot tell"


def layer_row(layer: Obj) -> Provider | None:
    """The contract of an object, None when it is no parallel layer."""
    row = layer.attrs.get("__provider__")
    return row.value if isinstance(row, Const) else None


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
        return Verdict.RIGHT if told else Verdict.WRONG
    return Verdict.UNKNOWN
