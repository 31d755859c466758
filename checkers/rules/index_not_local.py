"""E7132"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..language import tr
from ..project.project import dotted_name
from ..rule import Rule, Symptom
from ..spmd.axes import group_axes, rank_function, varies
from ..spmd.collectives import Collective, Entered
from ..spmd.frames import Frame, functions
from ..spmd.names import TP
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_MARKS = re.compile(r"tensor_model_parallel|tensor_parallel|tp_group|_rank\b|_rank\(")
_LOOKS = re.compile(r"\.gather\(|argmax|\.max\(|F\.embedding|in range\(")
_MAX_DEPTH = 4


class IndexNotLocal(Rule):
    """A rank's part is indexed by numbers of the whole, or numbers of the part are taken for those of the whole."""

    code, symbol = "E7132", "index-not-local"
    message = "%(problem)s"
    advice = "%(typed)s"
    why = (
        "A rank that holds entries `lo` to `hi` of a vocabulary counts its own from zero: what comes from outside has "
        "`lo` too much, and what goes outside has it too little."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "wrong entries are taken, or an index out of range on ranks above 0"
    limits = (
        "Where one function compares the index with both ends of the rank's part, reduces the places of local "
        "maxima over the tensor-parallel group, or counts a list of the rank's own modules from where the rank starts."
    )
    guide = "beyond the guide"
    bad = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def picked(logits, target):
        rank = parallel_state.get_tensor_model_parallel_rank()
        width = logits.shape[-1]
        lo, hi = rank * width, (rank + 1) * width
        outside = (target < lo) | (target >= hi)
        index = target.masked_fill(outside, 0)
        found = logits.gather(-1, index.unsqueeze(-1)).squeeze(-1)  # [index-not-local]
        found = found.masked_fill(outside, 0.0)
        dist.all_reduce(found, group=parallel_state.get_tensor_model_parallel_group())
        return found
    """
    good = bad.replace("target.masked_fill", "(target - lo).masked_fill").replace("  # [index-not-local]", "")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _MARKS, _LOOKS):
            for node, target, low in _whole_indices(frame):
                yield self._finding(
                    frame,
                    node,
                    tr(
                        "`%(index)s` counts the whole dimension, and what it looks up is the rank's part",
                        index=target,
                    ),
                    tr("Subtract the start of the part first: `%(index)s - %(low)s`.", index=target, low=low),
                )
            for part, items, count in _parts_by_whole_number(frame):
                yield self._finding(
                    frame,
                    part,
                    tr(
                        "`%(items)s` holds the rank's own, and the loop counts from `%(low)s`",
                        items=items,
                        low=count[0],
                    ),
                    tr("Take `%(items)s[%(index)s - %(low)s]`.", items=items, index=count[1], low=count[0]),
                )
            for sent, name in _local_maxima(frame):
                yield self._finding(
                    frame,
                    sent,
                    tr("`%(index)s` counts the rank's own part, and all ranks compare it", index=name),
                    tr("Add the start of the part before it leaves the rank: the rank times its width."),
                )

    def _finding(self, frame: Frame, node: ast.AST, problem: str, typed: str) -> Finding:
        return self.finding(
            place_of(frame.module, node),
            object=frame.function_name,
            advice="%(typed)s",
            problem=problem,
            typed=typed,
        )


def _whole_indices(frame: Frame) -> Iterator[tuple[ast.Call, str, str]]:
    """Look-ups by what was compared with both ends of a part, and never shifted to its start."""
    ends = {name: (low, line) for name, low, line in _ranges(frame)}
    for node in frame.scope.nodes if ends else ():
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        given = [keyword.value for keyword in node.keywords if keyword.arg in ("index", "input")]
        if node.func.attr == "gather":
            given = given or node.args[1:2]
        elif node.func.attr == "embedding":
            given = given or node.args[:1]
        else:
            continue
        for target, (low, line) in ends.items():
            if (
                given
                and node.lineno > line
                and target in _made_of(frame, given[0])
                and not _shifted(frame, given[0], target)
            ):
                yield node, target, low


def _ranges(frame: Frame) -> Iterator[tuple[str, str, int]]:
    """Names that are compared with a lower and an upper end, `(t < lo) | (t >= hi)`, and where."""
    for node in frame.scope.nodes:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.BitOr | ast.BitAnd):
            continue
        sides = [
            part for part in (node.left, node.right) if isinstance(part, ast.Compare) and len(part.ops) == 1
        ]
        if len(sides) != 2 or as_code(sides[0].left) != as_code(sides[1].left):
            continue
        tests = [type(side.ops[0]) for side in sides]
        is_outside = isinstance(node.op, ast.BitOr) and tests == [ast.Lt, ast.GtE]
        if not is_outside and not (isinstance(node.op, ast.BitAnd) and tests == [ast.GtE, ast.Lt]):
            continue
        low, high = (as_code(side.comparators[0]) for side in sides)
        name = dotted_name(sides[0].left)
        if name is not None and low != high and _is_start(frame, sides[0].comparators[0]):
            yield name, low, node.lineno


def _is_start(frame: Frame, node: ast.expr) -> bool:
    """Whether the lower end is where the rank's part starts: made from a rank, or named so."""
    name = dotted_name(node)
    if name is None:
        return "rank" in as_code(node)
    made = [getattr(value, "source", value) for value in frame.scope.bound.get(name, [])]
    return "start" in name or any("rank" in as_code(value) for value in made)


def _made_of(frame: Frame, node: ast.expr, depth: int = 0) -> set[str]:
    """The names that go into an expression, through other names of the function."""
    found: set[str] = set()
    for part in walk(node):
        if isinstance(part, ast.Name) and part.id not in found:
            found.add(part.id)
            for value in frame.scope.bound.get(part.id, []) if depth < _MAX_DEPTH else ():
                found |= _made_of(frame, getattr(value, "source", value), depth + 1)
    return found


def _shifted(frame: Frame, node: ast.expr, target: str, depth: int = 0) -> bool:
    """Whether something is subtracted on the way, or a function of the tree is asked."""
    for part in walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
            return True
        if isinstance(part, ast.Call) and (isinstance(part.func, ast.Name) or "sub" in as_code(part.func)):
            return True
        if isinstance(part, ast.Name) and part.id != target and depth < _MAX_DEPTH:
            for value in frame.scope.bound.get(part.id, []):
                source = getattr(value, "source", value)
                is_mask = isinstance(source, ast.BinOp) and isinstance(source.op, ast.BitOr | ast.BitAnd)
                if (
                    not is_mask
                    and target in _made_of(frame, source)
                    and _shifted(frame, source, target, depth + 1)
                ):
                    return True
        if isinstance(part, ast.Name) and part.id == target:
            given = frame.scope.bound.get(target, [])
            if any(not _only_masked(frame, getattr(value, "source", value), target) for value in given):
                return True  # the name was given something else
    return False


def _only_masked(frame: Frame, node: ast.expr, target: str) -> bool:
    """`ids * mask`, where the mask is what says which of `ids` are the rank's own, and `ids.masked_fill(mask, 0)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "masked_fill" and as_code(node.func.value) == target:
            return True
        if node.func.attr == "where" and len(node.args) == 3:
            return target in {as_code(arg) for arg in node.args[1:]}
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    sides = (node.left, node.right)
    others = [side for side in sides if not (isinstance(side, ast.Name) and side.id == target)]
    masks = [
        getattr(value, "source", value)
        for side in others
        if isinstance(side, ast.Name)
        for value in frame.scope.bound.get(side.id, [])
    ]
    return len(others) == 1 and len(masks) == 1 and isinstance(masks[0], ast.BinOp | ast.Compare)


def _parts_by_whole_number(frame: Frame) -> Iterator[tuple[ast.Subscript, str, tuple[str, str]]]:
    """A list of the rank's own parts, indexed in a loop from where the rank starts on: which, and how it counts."""
    for loop in frame.scope.of(ast.For):
        if not isinstance(loop.target, ast.Name):
            continue
        ends = (
            loop.iter.args if isinstance(loop.iter, ast.Call) and as_code(loop.iter.func) == "range" else []
        )
        if len(ends) != 2 or not _is_product_of_rank(frame, ends[0]):
            continue
        for node in (part for statement in loop.body for part in walk(statement)):
            if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Name):
                continue
            if node.slice.id == loop.target.id and _has_share_many(frame, node.value, ends):
                yield node, as_code(node.value), (as_code(ends[0]), loop.target.id)
                return


def _is_product_of_rank(frame: Frame, node: ast.expr) -> bool:
    """`rank * n`, by name: where the rank's own begin."""
    made = frame.definitions(node) if isinstance(node, ast.Name | ast.Attribute) else [(node, frame)]
    if len(made) != 1 or not isinstance(made[0][0], ast.BinOp) or not isinstance(made[0][0].op, ast.Mult):
        return False
    return any(
        varies(side, made[0][1]) or "rank" in as_code(side) for side in (made[0][0].left, made[0][0].right)
    )


def _has_share_many(frame: Frame, items: ast.expr, ends: list[ast.expr]) -> bool:
    """Whether a list of modules has as many entries as the loop has rounds: `first`, `first + n` and `range(n)`."""
    last = ends[1]
    made = frame.definitions(last) if isinstance(last, ast.Name | ast.Attribute) else [(last, frame)]
    if len(made) != 1 or not isinstance(made[0][0], ast.BinOp) or not isinstance(made[0][0].op, ast.Add):
        return False
    sides = [as_code(made[0][0].left), as_code(made[0][0].right)]
    first = as_code(ends[0])
    if first not in sides:
        return False
    count = sides[1 - sides.index(first)]
    held = frame.definitions(items) if isinstance(items, ast.Attribute) else []
    return len(held) == 1 and f"in range({count})" in as_code(held[0][0])


def _local_maxima(frame: Frame) -> Iterator[tuple[ast.AST, str]]:
    """The place of a local maximum that the ranks reduce, in a function that asks for no rank."""
    entered = [entry for entry in frame.project.knowledge(Entered).of(frame) if _over_tensor(entry, frame)]
    if not entered or any(
        rank_function(node, frame) or "rank" in as_code(node.func) for node in frame.scope.calls
    ):
        return
    for node in frame.scope.nodes:
        name, call = _place(node)
        if name is None or call is None or "dim" not in as_code(call):
            continue
        for entry in entered:
            sent = entry.node.args[0] if entry.node.args else None
            if entry.name == "all_reduce" and isinstance(sent, ast.Name) and sent.id != _value_of(node):
                if name in _named_in(frame, sent) and re.search(r"\b(MAX|MIN)\b", as_code(entry.node)):
                    yield entry.node, name
                    return


def _named_in(frame: Frame, node: ast.Name) -> set[str]:
    """A name, and the names in what it is given, one step far."""
    given = [getattr(value, "source", value) for value in frame.scope.bound.get(node.id, [])]
    return {node.id} | {part.id for value in given for part in walk(value) if isinstance(part, ast.Name)}


def _over_tensor(entry: Collective, frame: Frame) -> bool:
    axes = entry.axes if entry.axes is not None else group_axes(entry.group, frame)
    return axes == TP


def _place(node: ast.AST) -> tuple[str | None, ast.Call | None]:
    """`best, place = x.max(dim=-1)` or `place = x.argmax(dim=-1)`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return None, None
    called = (dotted_name(node.value.func) or as_code(node.value.func)).rsplit(".", 1)[-1]
    target = node.targets[0]
    if called == "max" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        return dotted_name(target.elts[1]), node.value
    return (dotted_name(target), node.value) if called == "argmax" else (None, None)


def _value_of(node: ast.AST) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return dotted_name(target.elts[0]) or "" if isinstance(target, ast.Tuple) else ""
