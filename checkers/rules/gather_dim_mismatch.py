"""E7716"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import as_code
from ..finding import Evidence, Finding, Fix
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.collectives import Entered
from ..spmd.frames import Frame, functions, module_functions
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_GATHERS = re.compile(r"all_gather")
_JOINS = re.compile(r"\bcat\(|\bconcat\(")
_MARK = re.compile(r"(\w+\.|getattr\(.*)['\"]?(partition|split|shard|parallel|tp)_dim\b")
_CUTS = frozenset("narrow chunk split tensor_split".split())


class GatherDimMismatch(Rule):
    """Parts of parameters are put together along a fixed dimension, and cut along that of each parameter."""

    code, symbol = "E7716", "gather-dim-mismatch"
    message = "`%(text)s` joins the parts of parameters along dimension %(dim)s; line %(line)s cuts along `%(mark)s`"
    advice = "Join along `%(mark)s`, the dimension that the parameter was cut along."
    why = (
        "A column-parallel weight is cut along its first dimension, a row-parallel one along its second. Parts that "
        "are joined along another dimension than they were cut along give a tensor of another shape, or the right "
        "shape with its entries in the wrong place."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Saving works; the whole file cannot be loaded, or holds rows where columns belong."
    limits = (
        "Where one function gathers parameters that it lists, along a number that is written out, and another of the "
        "same file cuts along the mark of each parameter."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "Which of the two dimensions is right is for a reader to say."

    bad = """
    import torch
    import torch.distributed as dist
    from megatron.core import parallel_state


    def whole(model):
        state = {}
        for name, p in model.named_parameters():
            parts = [torch.empty_like(p) for _ in range(parallel_state.get_tensor_model_parallel_world_size())]
            dist.all_gather(parts, p.data, group=parallel_state.get_tensor_model_parallel_group())
            state[name] = torch.cat(parts, dim=0)  # [gather-dim-mismatch]
        return state


    def load(model, state):
        rank = parallel_state.get_tensor_model_parallel_rank()
        size = parallel_state.get_tensor_model_parallel_world_size()
        for name, p in model.named_parameters():
            p.data.copy_(state[name].chunk(size, dim=p.partition_dim)[rank])
    """
    good = bad.replace("dim=0)  # [gather-dim-mismatch]", "dim=p.partition_dim)")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _GATHERS, _JOINS, _MARK):
            joined = _joined(frame)
            if joined is None:
                continue
            cut = next(_cuts(frame, frame.module), None)
            if cut is None:
                continue
            for where, call, dim in _fixed(frame, *joined):
                yield self.finding(
                    place_of(where.module, call),
                    object=where.function_name,
                    evidence=(
                        Evidence(
                            where.module.display, cut[0].lineno, tr("`%(cut)s`", cut=as_code(cut[0])[:80])
                        ),
                    ),
                    text=as_code(call),
                    dim=as_code(dim),
                    line=cut[0].lineno,
                    mark=cut[1],
                    fix=_along(where, dim, cut[1]),
                )


def _along(frame: Frame, dim: ast.expr, mark: str) -> Fix | None:
    """The mark in place of the number, where the function calls its parameters by the same name."""
    names = {part.id for part in frame.scope.nodes if isinstance(part, ast.Name)}
    is_plain = re.fullmatch(r"(\w+)\.\w+", mark)
    return unsafe(replace(frame.module, dim, mark)) if is_plain and is_plain[1] in names else None


def _joined(frame: Frame) -> tuple[ast.Call, ast.expr] | None:
    """`torch.cat(parts, dim=...)` of the list that an all-gather of this function fills."""
    lists = {
        as_code(entry.node.args[0])
        for entry in frame.project.knowledge(Entered).of(frame)
        if entry.name == "all_gather" and entry.node.args
    }
    for call in frame.scope.calls:
        if frame.external(call.func) in ("torch.cat", "torch.concat") and call.args:
            dim = frame.argument(call, "dim", 1)
            if as_code(call.args[0]) in lists and dim is not None:
                return call, dim
    return None


def _fixed(frame: Frame, call: ast.Call, dim: ast.expr) -> Iterator[tuple[Frame, ast.Call, ast.expr]]:
    """The join itself, or the calls of the function that does it, where the dimension is a written number."""
    if _is_number(dim):
        if _lists_parameters(frame) or _of_parameter(frame):
            yield frame, call, dim
        return
    if not isinstance(dim, ast.Name) or dim.id not in frame.scope.parameters:
        return
    for caller in module_functions(frame.project, frame.module):
        for asked in caller.scope.calls if _lists_parameters(caller) else ():
            inner = caller.callee(asked)
            is_it = inner is not None and inner.scope.function is frame.scope.function
            given = inner.given.get(dim.id) if inner is not None and is_it else None
            if given is not None and given[1] is caller and _is_number(given[0]):
                yield caller, asked, given[0]


def _is_number(node: ast.expr) -> bool:
    return as_code(node).lstrip("-").isdigit()


def _lists_parameters(frame: Frame) -> bool:
    return any(as_code(call.func).endswith(("named_parameters", ".parameters")) for call in frame.scope.calls)


def _of_parameter(frame: Frame) -> bool:
    """Whether the function gets one parameter, and asks for the mark that says whether it is split."""
    function = frame.scope.function
    return function is not None and "tensor_model_parallel" in frame.module.text_of(function)


def _cuts(frame: Frame, module: ModuleFacts) -> Iterator[tuple[ast.Call, str]]:
    """Calls of the file that cut along the mark of a parameter."""
    for other in module_functions(frame.project, module):
        for call in other.scope.calls:
            if not isinstance(call.func, ast.Attribute) or call.func.attr not in _CUTS:
                continue
            for given in (*call.args, *(keyword.value for keyword in call.keywords)):
                held = (
                    [given, *(value for value, _ in other.definitions(given))]
                    if _may_hold(given)
                    else [given]
                )
                marks = [found for value in held if (found := _MARK.search(as_code(value)))]
                if marks and not isinstance(given, ast.Constant):
                    yield call, marks[0][0] if "." not in as_code(held[-1]) else as_code(held[-1])


def _may_hold(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)
