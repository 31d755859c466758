"""E7131"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code
from ..finding import Finding
from ..language import tr
from ..project.scopes import Opaque
from ..rule import Rule, Symptom
from ..spmd.axes import rank_function
from ..spmd.frames import Definition, Frame, functions
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_RANKS = re.compile(r"_rank\b|_rank\(")
_CUTS = re.compile(r"\.narrow\(|return |_rank\(\) \*")
_END = re.compile(r"(hi|high|end|stop|upper|last)(_\w+)?|\w+_(hi|end|stop)")
_START = re.compile(r"(lo|low|start|begin|lower|first)(_\w+)?|\w+_(lo|start|begin)")
_SIZES = re.compile(r"world_size|_size\b|\btp\b|tp_|stages|\bpp\b|ranks")


class RankPartMisplaced(Rule):
    """What a rank takes of a whole begins at the wrong place, or has the wrong length."""

    code, symbol = "E7131", "rank-part-misplaced"
    message = "`%(cut)s` is not the rank's part: %(problem)s"
    advice = "Write `%(typed)s`."
    why = "Rank r has the r-th of the equal parts: from r times the length of a part on, and that long."
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "an index out of range on every rank but the first, or ranks that share a part and leave others out"
    )
    limits = (
        "Where the length is written as the whole divided by the number of ranks, or where start and end come from one "
        "call; silent for parts that are not equal."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "The parts may be cut in another way that is not seen here."

    bad = """
    import torch
    from megatron.core import parallel_state


    def own_rows(table, rows):
        share = rows // parallel_state.get_tensor_model_parallel_world_size()
        first = parallel_state.get_tensor_model_parallel_rank() * rows
        return table.narrow(0, first, share)  # [rank-part-misplaced]
    """
    good = bad.replace("rank() * rows", "rank() * share").replace("  # [rank-part-misplaced]", "")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _RANKS, _CUTS):
            for node, start, length in _parts(frame):
                found = _problem(frame, node, start, length)
                if found is not None:
                    yield self.finding(
                        place_of(frame.module, node),
                        object=frame.scope.function.name if frame.scope.function is not None else "",
                        cut=as_code(node),
                        fix=None
                        if found[1].startswith("rank *")
                        else unsafe(replace(found[3].module, found[2], found[4])),
                        problem=found[0],
                        typed=found[1],
                    )


def _parts(frame: Frame) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    """`x.narrow(dim, start, length)` and a returned `(start, length)`."""
    for node in frame.scope.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "narrow":
            if len(node.args) == 3 and not node.keywords:
                yield node, node.args[1], node.args[2]
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            yield node.value, node.value.elts[0], node.value.elts[1]


Problem = tuple[str, str, ast.expr, Frame, str]
"""What is wrong, what to type, and the edit: which node, where, and its text."""


def _problem(frame: Frame, node: ast.expr, start: ast.expr, length: ast.expr) -> Problem | None:
    ends = _end_given(frame, start, length) if isinstance(node, ast.Call) else None
    if ends is not None:
        problem = tr("its third argument is a length, and `%(end)s` is an end", end=as_code(length))
        return problem, ends, length, frame, ends
    share = _one(frame, length)
    if share is None or not isinstance(share[0], ast.BinOp) or not isinstance(share[0].op, ast.FloorDiv):
        return None
    if not _SIZES.search(as_code(share[0].right)):
        return None
    whole, part = as_code(share[0].left), as_code(length)
    begin = _one(frame, start)
    product = begin[0] if begin is not None else None
    if begin is not None and _is_first(frame, node, product):
        return tr("it begins at 0 on every rank"), f"rank * {part}", start, frame, f"rank * {part}"
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult) or begin is None:
        return None
    sides = (product.left, product.right)
    for rank, factor in (sides, sides[::-1]):
        if _is_rank(rank, begin[1]) and as_code(factor) == whole:
            problem = tr("it begins at the rank times `%(whole)s`, which is the whole", whole=whole)
            return problem, f"{as_code(rank)} * {part}", factor, begin[1], part
    return None


def _is_first(frame: Frame, node: ast.expr, start: ast.expr | None) -> bool:
    """The first part, on every rank, of what the class marks as split over the ranks."""
    is_zero = isinstance(start, ast.Constant) and start.value == 0
    function = frame.scope.function
    if not is_zero or not isinstance(node, ast.Call) or frame.cls is None or function is None:
        return False
    return "set_tensor_model_parallel_attributes" in frame.cls.text and "rank(" not in as_code(function)


def _end_given(frame: Frame, start: ast.expr, length: ast.expr) -> str | None:
    """The length that is meant, where both ends of a part come from one call and are named so."""
    if not (isinstance(start, ast.Name) and isinstance(length, ast.Name)):
        return None
    if not (_START.fullmatch(start.id) and _END.fullmatch(length.id)):
        return None
    held = [frame.scope.bound.get(name.id, []) for name in (start, length)]
    if any(len(values) != 1 or not isinstance(values[0], Opaque) for values in held):
        return None
    first, second = held[0][0], held[1][0]
    if isinstance(first, Opaque) and isinstance(second, Opaque) and first.source is second.source:
        return f"{length.id} - {start.id}"
    return None


def _one(frame: Frame, node: ast.expr) -> Definition | None:
    """The one expression that a name or attribute is given, or what is written here."""
    if not isinstance(node, ast.Name | ast.Attribute):
        return node, frame
    found = frame.definitions(node)
    return found[0] if len(found) == 1 else None


def _is_rank(node: ast.expr, frame: Frame) -> bool:
    given = _one(frame, node)
    return given is not None and isinstance(given[0], ast.Call) and bool(rank_function(given[0], given[1]))
