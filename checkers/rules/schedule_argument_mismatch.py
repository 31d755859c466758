"""E7530"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import Project, dotted_name
from ..rule import Rule, Symptom
from ..spmd.axes import size_axes
from ..spmd.frames import Frame, functions
from ..spmd.names import TP
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_SCHEDULE = re.compile(r"get_forward_backward_func")
_LENGTH = re.compile(r"(^|_)(seq|sequence|total|decoder)(_|$)\w*(len|length)$|^seqlen$")
_OTHERS = {
    "micro_batch_size": re.compile(r"(^|\.)(global_batch_size|num_microbatches|gbs)$"),
    "num_microbatches": re.compile(r"(^|\.)(global_batch_size|micro_batch_size|gbs|mbs)$"),
}
Sum = tuple[str, ast.BinOp, ModuleFacts]


class ScheduleArgumentMismatch(Rule):
    """The pipeline schedule is told other sizes than the activations have."""

    code, symbol = "E7530", "schedule-argument-mismatch"
    message = "the schedule is told `%(word)s=%(value)s`, %(what)s"
    advice = "%(advice)s"
    why = (
        "Megatron makes its receive buffers from `seq_length` and `micro_batch_size`, and divides the length over the "
        "tensor-parallel ranks itself where sequence parallelism is on. What is sent must have that size."
    )
    symptom = Symptom.HANG
    runtime = "The receiver waits for more than is sent, or gets a cut tensor; with one stage nothing shows."
    limits = (
        "Only in calls of what `get_forward_backward_func` gives; a length is wrong where a property adds it "
        "to another one to get the length of the sequence."
    )
    guide = "beyond the guide; 3.1 declares the shapes that cross"

    bad = """
    from megatron.core.pipeline_parallel import get_forward_backward_func


    class Sizes:
        patches = 16
        text_len = 32

        @property
        def seq_length(self):
            return self.patches + self.text_len


    def train(step, data, model, sizes):
        return get_forward_backward_func()(
            forward_step_func=step,
            data_iterator=data,
            model=model,
            num_microbatches=4,
            seq_length=sizes.text_len,  # [schedule-argument-mismatch]
            micro_batch_size=1,
            forward_only=False,
        )
    """
    good = """
    from megatron.core.pipeline_parallel import get_forward_backward_func


    class Sizes:
        patches = 16
        text_len = 32

        @property
        def seq_length(self):
            return self.patches + self.text_len


    def train(step, data, model, sizes):
        return get_forward_backward_func()(
            forward_step_func=step,
            data_iterator=data,
            model=model,
            num_microbatches=4,
            seq_length=sizes.seq_length,
            micro_batch_size=1,
            forward_only=False,
        )
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _SCHEDULE):
            for node in frame.scope.calls:
                if _is_schedule(node.func, frame):
                    for word in node.keywords:
                        yield from self._check(analysis.project, frame, word)

    def _check(self, project: Project, frame: Frame, word: ast.keyword) -> Iterator[Finding]:
        text = ast.unparse(word.value)
        evidence: tuple[Evidence, ...] = ()
        if word.arg in _OTHERS and _OTHERS[word.arg].search(dotted_name(word.value) or ""):
            what, advice = (
                tr("which by its name is another size"),
                tr("Give `%(arg)s` its own size.", arg=word.arg),
            )
        elif word.arg == "seq_length" and _is_divided(word.value, frame):
            what = tr("and divides by the tensor-parallel size once more itself")
            advice = tr("Give it the length of the whole sequence.")
        elif word.arg == "seq_length" and (found := _part_of(project, text)) is not None:
            name, node, module = found
            shown = ast.unparse(node)
            what = tr(
                "a part of `%(name)s`: the activations have `%(shown)s` positions", name=name, shown=shown
            )
            advice = tr("Give it `%(name)s`, the length of the whole sequence.", name=name)
            evidence = (
                Evidence(
                    module.display, node.lineno, tr("`%(name)s` is `%(shown)s`", name=name, shown=shown)
                ),
            )
        else:
            return
        yield self.finding(
            place_of(frame.module, word.value),
            object=word.arg or "",
            evidence=evidence,
            word=word.arg,
            value=text,
            what=what,
            advice=advice,
        )


def _is_schedule(func: ast.expr, frame: Frame) -> bool:
    """`get_forward_backward_func()`, also by a name that holds it."""
    if isinstance(func, ast.Name | ast.Attribute):
        held = frame.definitions(func)
        return len(held) == 1 and _is_schedule(held[0][0], held[0][1]) if held else False
    return (
        isinstance(func, ast.Call)
        and ast.unparse(func.func).rsplit(".", 1)[-1] == "get_forward_backward_func"
    )


def _is_divided(value: ast.expr, frame: Frame) -> bool:
    is_quotient = isinstance(value, ast.BinOp) and isinstance(value.op, ast.FloorDiv)
    return is_quotient and isinstance(value, ast.BinOp) and size_axes(value.right, frame) == TP


def _part_of(project: Project, text: str) -> Sum | None:
    """The property that adds a length to others to get the one of the sequence."""
    if "." not in text:
        return None
    for name, node, module in project.knowledge(_lengths):
        terms = [ast.unparse(term) for term in (node.left, node.right)]
        for term in terms:
            inner = term.removeprefix("self.")
            if inner != term and (text == inner or text.endswith(f".{inner}")):
                return name, node, module
    return None


def _lengths(project: Project) -> list[Sum]:
    found: list[Sum] = []
    for cls in project.classes():
        for name, method in cls.methods.items():
            is_property = any("property" in ast.unparse(mark) for mark in method.decorator_list)
            last = method.body[-1]
            if is_property and _LENGTH.search(name) and isinstance(last, ast.Return):
                if isinstance(last.value, ast.BinOp) and isinstance(last.value.op, ast.Add):
                    found.append((name, last.value, cls.module))
    return found
