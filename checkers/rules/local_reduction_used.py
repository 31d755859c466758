"""E7130"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code
from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.collectives import Entered
from ..spmd.frames import Frame, functions, names_in
from ..spmd.names import WORLD
from ..tpstate.parameter_events import PartReduced, WronglyReduced
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, place_of, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


_MAXIMA = re.compile(r"ReduceOp\.MAX|\bMAX\b")
_SUMS = re.compile(r"\.sum\(")


class LocalReductionUsed(Rule):
    """A maximum, sum or norm of one rank's part is used on that part, and the ranks' are never put together."""

    code, symbol = "E7130", "local-reduction-used"
    message = "`%(part)s` is taken over one rank's part of a split dimension, and meets the part without an all-reduce"
    advice = (
        "All-reduce it first: `torch.distributed.all_reduce(%(part)s, op=torch.distributed.ReduceOp.%(op)s, "
        "group=parallel_state.get_tensor_model_parallel_group())`."
    )
    why = (
        "Each rank shifts or scales its part by a number of its own. What is summed over the ranks afterwards adds "
        "terms of different scales."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails; probabilities and losses differ from those of tp=1"
    limits = (
        "Only for values seen to be split, or whose maximum the function takes over the ranks; reductions over the "
        "split dimension, and where the result is given to no collective in the same function."
    )
    guide = "beyond the guide"
    bad = """
    import torch.distributed as dist
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Head(nn.Module):
        def __init__(self, dim, vocab, config):
            super().__init__()
            self.out = ColumnParallelLinear(
                dim, vocab, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            logits, _ = self.out(x)
            top = logits.amax(dim=-1, keepdim=True)
            total = (logits - top).exp().sum(dim=-1)  # [local-reduction-used]
            dist.all_reduce(total, group=parallel_state.get_tensor_model_parallel_group())
            return total.log()
    """
    good = """
    import torch
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Head(nn.Module):
        def __init__(self, dim, vocab, config):
            super().__init__()
            self.out = ColumnParallelLinear(
                dim, vocab, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            logits, _ = self.out(x)
            top = logits.amax(dim=-1, keepdim=True)
            torch.distributed.all_reduce(
                top, op=torch.distributed.ReduceOp.MAX, group=parallel_state.get_tensor_model_parallel_group()
            )
            total = (logits - top).exp().sum(dim=-1)
            torch.distributed.all_reduce(total, group=parallel_state.get_tensor_model_parallel_group())
            return total.log()
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        said: set[int] = set()
        for wrongs in by_site(analysis.log.events, WronglyReduced):
            wrong = first_certain(wrongs)
            if wrong is not None:
                said.add(id(wrong.site.function))
                yield self.finding(
                    site_place(wrong.site),
                    object=owner_name(wrong),
                    evidence=evidence(why(wrong.tensor)),
                    message="%(how)s",
                    advice=tr(
                        "Take the maximum of maxima, the sum of sums, and of a look-up the sum with zeros where the "
                        "index is another rank's: each by its own all-reduce, before it meets anything else."
                    ),
                    how=wrong.how,
                )
        yield from self._sums_left_out(analysis, said)
        for frame in functions(analysis.project, _TOPS, re.compile(r"all_reduce\(")):
            for call, name in _summed_maxima(frame) if id(frame.scope.function) not in said else ():
                yield self.finding(
                    place_of(frame.module, call),
                    object=frame.function_name,
                    message="`%(call)s` adds up the maxima of the ranks: `%(part)s` is no maximum any more",
                    call=as_code(call)[:60],
                    part=name,
                    op="MAX",
                )
        for events in by_site(analysis.log.events, PartReduced):
            event = first_certain(events)
            if event is None or event.part.why is None:
                continue
            name, text = _part(event)
            if name and re.search(rf"(reduce|gather|broadcast)\w*\([^)]*\b{re.escape(name)}\b", text):
                continue
            yield self.finding(
                site_place(event.site),
                object=owner_name(event),
                evidence=evidence(event.part.why, why(event.tensor)),
                part=name or "part",
                op="MAX" if "`max`" in event.part.why.text or "`amax`" in event.part.why.text else "SUM",
            )

    def _sums_left_out(self, analysis: Analysis, said: set[int]) -> Iterator[Finding]:
        for frame in functions(analysis.project, _MAXIMA, _SUMS):
            for top, total in _left_out(frame) if id(frame.scope.function) not in said else ():
                yield self.finding(
                    place_of(frame.module, total),
                    object=frame.function_name,
                    message="%(how)s",
                    how=tr(
                        "`%(total)s` is what this rank has of the values whose maximum line %(line)s takes over the "
                        "ranks, and no collective adds the others'",
                        total=as_code(total),
                        line=top.lineno,
                    ),
                    part=as_code(total),
                    op="SUM",
                )


_TOPS = re.compile(r"\bamax\(|\bmax\(")
_OF_MAXIMUM = re.compile(r"\.(amax|max)\(.*dim=|torch\.(amax|max)\(.*dim=")


def _summed_maxima(frame: Frame) -> Iterator[tuple[ast.Call, str]]:
    """`top = x.amax(dim=-1)`, summed over the ranks, and then taken from `x`."""
    for entry in frame.project.knowledge(Entered).of(frame):
        given = entry.node.args[0] if entry.node.args else None
        if entry.name != "all_reduce" or not isinstance(given, ast.Name) or "op=" in as_code(entry.node):
            continue
        if len(entry.node.args) > 1 or not entry.axes or entry.axes == WORLD:
            continue
        held = frame.scope.bound.get(given.id, [])
        if len(held) != 1 or not _OF_MAXIMUM.search(as_code(held[0])):
            continue
        for node in frame.scope.nodes:
            is_less = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
            if is_less and isinstance(node, ast.BinOp) and node.lineno > entry.node.lineno:
                if re.match(rf"{given.id}\b(\.unsqueeze\(|$|\[)", as_code(node.right)):
                    yield entry.node, given.id
                    break


def _left_out(frame: Frame) -> Iterator[tuple[ast.Call, ast.expr]]:
    """A maximum that all ranks take, and a sum of the same values, shifted by it, that each rank takes alone."""
    entered = frame.project.knowledge(Entered).of(frame)
    tops = [
        entry.node
        for entry in entered
        if entry.name == "all_reduce" and re.search(r"\bMAX\b", as_code(entry.node)) and entry.node.args
    ]
    for top in tops[:1]:
        grown = _shifted_by(as_code(top.args[0]), frame)
        for node in frame.scope.nodes:
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            total, name = node.value, node.targets[0].id
            is_sum = isinstance(total, ast.Call) and _is_sum_of(total, grown)
            if total.lineno < top.lineno or not (is_sum or _is_pick(total)):
                continue
            if not _is_given_on(frame, name) and not any(name in names_in(entry.node) for entry in entered):
                yield top, total


def _shifted_by(top: str, frame: Frame) -> set[str]:
    """Names of `exp(x - top)`, made in one step or two."""
    shifted: set[str] = set()
    grown: set[str] = set()
    for node in frame.scope.nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        text, name = as_code(node.value), node.targets[0].id
        parts = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
        if "exp(" in text and (parts & shifted or (top in parts and "-" in text)):
            grown.add(name)
        elif top in parts and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Sub):
            shifted.add(name)
    return grown | shifted


def _is_pick(node: ast.expr) -> bool:
    """`x.gather(-1, index).masked_fill(outside, 0.0)`: zero where another rank has the entry."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    is_zeroed = (
        node.func.attr == "masked_fill" and len(node.args) == 2 and as_code(node.args[1]) in ("0.0", "0")
    )
    return is_zeroed and any(
        isinstance(part, ast.Attribute) and part.attr == "gather" for part in ast.walk(node)
    )


def _is_sum_of(node: ast.Call, grown: set[str]) -> bool:
    """`grown.sum(dim=-1)` or `torch.sum(grown, dim=-1)`"""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("sum", "mean"):
        return False
    held = [node.func.value, *node.args[:1]]
    return any(isinstance(part, ast.Name) and part.id in grown for part in held)


def _is_given_on(frame: Frame, name: str) -> bool:
    """Whether a function that may reduce it gets a name, or the function hands it out."""
    for node in frame.scope.nodes:
        if isinstance(node, ast.Call):
            own = [*node.args, *(keyword.value for keyword in node.keywords)]
            is_plain = as_code(node.func).startswith("torch.") and "distributed" not in as_code(node.func)
            if any(isinstance(arg, ast.Name) and arg.id == name for arg in own) and not is_plain:
                return True
        if isinstance(node, ast.Return) and node.value is not None:
            items = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if any(isinstance(item, ast.Name) and item.id == name for item in items):
                return True
    return False


def _part(event: PartReduced) -> tuple[str, str]:
    """The name that holds the part in the function that uses it, and the text of that function."""
    function, reduced = event.site.function, event.part.why
    if not isinstance(function, ast.FunctionDef) or reduced is None:
        return "", ""
    text = "\n".join(event.site.module.lines[function.lineno - 1 : function.end_lineno])
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and node.lineno <= reduced.line <= (node.end_lineno or 0):
            first = node.targets[0]
            first = first.elts[0] if isinstance(first, ast.Tuple) and first.elts else first
            return (first.id if isinstance(first, ast.Name) else ""), text
    return "", text
