"""E7764"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code
from ..finding import Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.collectives import Entered
from ..spmd.frames import Frame, functions, names_in
from ..spmd.names import text_of
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_KEEPS = frozenset("detach clone float double clamp clamp_min to".split())
_REDUCES = re.compile(r"all_reduce\(")
_COUNTS = re.compile(r"mask|count|valid|weight|tokens|labels")


class QuotientOfOwnCount(Rule):
    """A sum over ranks is divided by what one rank has counted."""

    code, symbol = "E7764", "quotient-of-own-count"
    message = "`%(sum)s` is summed over the %(group)s ranks, and divided by `%(count)s`, which counts this rank's alone"
    advice = "All-reduce `%(count)s` over the same group first, or reduce both at once in one tensor."
    why = (
        "The mean over the tokens of several ranks is their sum over their number: both need the same ranks."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "the loss is as many times too large as there are ranks, and differs between them"
    limits = (
        "Where one function sums a masked value and the mask, all-reduces the first and divides by the second, and "
        "nothing else reduces or rescales either."
    )
    guide = "beyond the guide"
    bad = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def mean_loss(losses, mask):
        total = (losses * mask).sum()
        count = mask.sum()
        dist.all_reduce(total, group=parallel_state.get_context_parallel_group())
        return total / count  # [quotient-of-own-count]
    """
    good = bad.replace(
        "        return total / count  # [quotient-of-own-count]",
        "        dist.all_reduce(count, group=parallel_state.get_context_parallel_group())\n"
        "        return total / count",
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _REDUCES):
            entered = analysis.project.knowledge(Entered).of(frame)
            for entry in entered:
                name = (
                    entry.node.args[0].id
                    if entry.node.args and isinstance(entry.node.args[0], ast.Name)
                    else ""
                )
                if entry.name != "all_reduce" or not _is_plain_sum(entry.node) or not name:
                    continue
                made = _sums(name, frame)
                quotient = (
                    _quotient(name, frame, entry.node.lineno) if made is not None and "*" in made else None
                )
                divisor = _bare(quotient.right) if quotient is not None else None
                if quotient is None or not isinstance(divisor, ast.Name):
                    continue
                count = divisor.id
                counted = _sums(count, frame)
                if counted is None or not _COUNTS.search(counted) or "*" in counted:
                    continue
                rest = [
                    call for call in frame.scope.calls if call is not entry.node and count in names_in(call)
                ]
                if not any(_may_change(call, count) for call in rest):
                    yield self.finding(
                        place_of(frame.module, quotient),
                        object=frame.function_name,
                        evidence=(
                            Evidence(
                                frame.module.display,
                                entry.node.lineno,
                                tr("`%(sum)s` is summed here", sum=name),
                            ),
                        ),
                        sum=name,
                        group=text_of(entry.axes) if entry.axes else tr("own"),
                        count=count,
                    )


def _is_plain_sum(call: ast.Call) -> bool:
    told = [keyword.value for keyword in call.keywords if keyword.arg == "op"] + call.args[1:2]
    return not any("SUM" not in as_code(value) for value in told)


def _sums(name: str, frame: Frame, seen: frozenset[str] = frozenset()) -> str | None:
    """What a name sums over all of its entries: `(losses * mask).sum()` gives `losses * mask`."""
    values = frame.scope.bound.get(name, [])
    made: ast.expr | None = _bare(values[0]) if len(values) == 1 else None
    if isinstance(made, ast.Name):
        return None if made.id in seen else _sums(made.id, frame, seen | {name, made.id})
    if isinstance(made, ast.Call) and as_code(made.func) == "torch.sum" and len(made.args) == 1:
        return as_code(made.args[0])
    is_sum = isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr == "sum"
    return as_code(made.func.value) if is_sum and not made.args and not made.keywords else None  # type: ignore[union-attr]


def _bare(node: ast.expr) -> ast.expr:
    """`x` of `x.detach().clone()` and `n.clamp(min=1)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPS:
        node = node.func.value
    return node


def _quotient(name: str, frame: Frame, after: int) -> ast.BinOp | None:
    return next(
        (
            node
            for node in frame.scope.of(ast.BinOp)
            if isinstance(node.op, ast.Div)
            and isinstance(node.left, ast.Name)
            and node.left.id == name
            and node.lineno > after
        ),
        None,
    )


def _may_change(call: ast.Call, count: str) -> bool:
    """Whether a call is given the count, or works on it in place."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if any(isinstance(arg, ast.Name) and arg.id == count for arg in given):
        return True
    return (
        isinstance(call.func, ast.Attribute)
        and as_code(call.func.value) == count
        and call.func.attr.endswith("_")
    )
