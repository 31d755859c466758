"""W7129"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import as_code
from ..finding import Finding
from ..language import tr
from ..project.project import Project
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.frames import Frame, functions
from ..tpstate.parameter_events import RawColumn
from ..tpstate.verdicts import by_site, evidence, first_certain, place_of, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_REDUCES = re.compile(r"reduce_from_(tensor_)?model_parallel_region\(")
_COPIES = re.compile(r"copy_to_(tensor_)?model_parallel_region\(|\.all_reduce\(|register_hook\(")


class ColumnInputNotCopied(Rule):
    """A whole input meets a hand-written shard of a weight without the copy that sums its gradient."""

    code, symbol = "W7129", "column-input-not-copied"
    message = "the input of `%(cls)s` meets one rank's part of a weight, and nothing sums its gradient over the ranks"
    advice = "Copy the input first: `x = copy_to_tensor_model_parallel_region(x)`, whose backward is an all-reduce."
    why = (
        "Each rank's part of the weight gives a part of the gradient of the input. `reduce_from…` at the end sums the "
        "outputs only; the copy at the beginning is its mirror, and sums the gradients."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "the forward is right; all that lies before gets a part of its gradient, another one on each rank"
    )
    limits = (
        "Only for an argument of `forward` that reaches the product unchanged in kind, in classes that reduce their "
        "output by a region function, and where neither they nor the classes that build them copy or reduce by hand."
    )
    guide = "beyond the guide"
    bad = """
    import torch
    import torch.nn.functional as F
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import (
        copy_to_tensor_model_parallel_region,
        reduce_from_tensor_model_parallel_region,
    )
    from torch import nn


    class Wide(nn.Module):
        def __init__(self, dim, hidden):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            self.up = nn.Parameter(torch.empty(hidden // tp, dim))
            self.down = nn.Parameter(torch.empty(dim, hidden // tp))
            self.up.tensor_model_parallel = self.down.tensor_model_parallel = True

        def forward(self, x):
            x = x.contiguous()
            hidden = F.gelu(F.linear(x, self.up))  # [column-input-not-copied]
            return reduce_from_tensor_model_parallel_region(F.linear(hidden, self.down))
    """
    good = """
    import torch
    import torch.nn.functional as F
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import (
        copy_to_tensor_model_parallel_region,
        reduce_from_tensor_model_parallel_region,
    )
    from torch import nn


    class Wide(nn.Module):
        def __init__(self, dim, hidden):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            self.up = nn.Parameter(torch.empty(hidden // tp, dim))
            self.down = nn.Parameter(torch.empty(dim, hidden // tp))
            self.up.tensor_model_parallel = self.down.tensor_model_parallel = True

        def forward(self, x):
            x = copy_to_tensor_model_parallel_region(x)
            hidden = F.gelu(F.linear(x, self.up))
            return reduce_from_tensor_model_parallel_region(F.linear(hidden, self.down))
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        if any(module.says(_TRAINS) for module in analysis.project.modules):
            for frame in functions(analysis.project, _TABLE, _PRODUCT):
                for call, what in _tied_heads(frame):
                    yield self.finding(
                        place_of(frame.module, call),
                        object=frame.cls.name if frame.cls is not None else "",
                        message="`%(call)s` multiplies one rank's part of a table by a whole input, and %(what)s",
                        call=as_code(call)[:70],
                        what=what,
                    )
        seen: set[int] = set()
        for events in by_site(analysis.log.events, RawColumn):
            cut = next((event for event in events if event.tensor.tag == "uncopied" and event.settled), None)
            if cut is not None and cut.owner is not None and id(cut.owner) not in seen:
                seen.add(id(cut.owner))
                yield self.finding(
                    site_place(cut.site),
                    object=cut.owner.name,
                    evidence=evidence(why(cut.tensor)),
                    cls=cut.owner.name,
                )
                continue
            raw = [event for event in events if event.tensor.tag == "argument" and event.owner is event.root]
            event = first_certain(raw)
            if event is None or event.owner is None or id(event.owner) in seen:
                continue
            if _REDUCES.search(event.owner.text) and not _copied(analysis.project, event.owner):
                seen.add(id(event.owner))
                yield self.finding(site_place(event.site), object=event.owner.name, cls=event.owner.name)


def _copied(project: Project, cls: ClassFacts) -> bool:
    """Whether the class, or one that names it, copies its input or reduces gradients by hand."""
    if _COPIES.search(cls.text):
        return True
    named = re.compile(rf"\b{cls.name}\b")
    return any(
        _COPIES.search(other.text) and named.search(other.text)
        for other in project.classes()
        if other is not cls
    )


_TRAINS = re.compile(r"\.backward\(|get_forward_backward_func|\bpretrain\(")
_TABLE = re.compile(r"VocabParallelEmbedding\(")
_PRODUCT = re.compile(r"matmul\(|linear\(")
_COPY = "copy_to_tensor_model_parallel_region"
_GATHER = "gather_from_sequence_parallel_region"


def _tied_heads(frame: Frame) -> Iterator[tuple[ast.Call, str]]:
    """Products with the weight of a vocabulary-parallel embedding whose input has no summed gradient."""
    if frame.cls is None:
        return
    for call in frame.scope.calls:
        if (
            frame.external(call.func) not in _PRODUCTS
            or len(call.args) < 2
            or not _is_table(call.args[1], frame)
        ):
            continue
        gathers = [other for other in frame.scope.calls if last_name(other.func) == _GATHER]
        flags = [frame.argument(gather, "tensor_parallel_output_grad", 1) for gather in gathers]
        guarded = any(isinstance(node, ast.If) and _GATHER in as_code(node) for node in frame.scope.nodes)
        if any(flag is not None and as_code(flag) == "False" for flag in flags):
            yield call, tr("the gather of its tokens keeps the own part of a gradient that is to be summed")
        elif _COPY not in frame.cls.text and (not gathers or guarded):
            yield call, tr("no `%(copy)s` sums the gradient of that", copy=_COPY)


_PRODUCTS = ("torch.matmul", "torch.nn.functional.linear")


def _is_table(node: ast.expr, frame: Frame) -> bool:
    """`self.word.weight`, or its transpose, of a vocabulary-parallel embedding."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("t", "transpose")
    ):
        node = node.func.value
    if not isinstance(node, ast.Attribute) or node.attr != "weight":
        return False
    made = [value for value, _ in frame.definitions(node.value)]
    return any(
        isinstance(value, ast.Call) and last_name(value.func) == "VocabParallelEmbedding" for value in made
    )
