"""E7210"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Finding
from ..language import tr
from ..project.boundary import Boundaries, Sent
from ..project.originals import Originals
from ..project.project import Project, dotted_name
from ..project.stages import Stage
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class LastStagePacksPassthrough(Rule):
    """The last stage returns a skip or meta tensor along with its result."""

    code, symbol = "E7210", "last-stage-packs-passthrough"
    message = "the last stage `%(cls)s` returns `%(name)s` along with its result"
    advice = "Return the result alone: `%(typed)s`."
    why = "Nothing runs behind the last stage but the loss function, which takes the result for a tensor."
    symptom = Symptom.CRASH
    runtime = "TypeError in the loss: expected Tensor, got tuple"
    limits = (
        "A received tensor that is returned as it came. Several results of the stage's own are right, and as many as "
        "the original returns."
    )
    guide = "1.3: the last stage returns the final result, no tuple"
    fix_kind = "unsafe"
    fix_note = "Whoever calls the model, as evaluation does, may take the tuple apart."

    bad = """
    import torch
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            x = self.layer(x)
            return x, x * 2


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            return self.layer(x + skip), skip  # [last-stage-packs-passthrough]
    """
    good = """
    import torch
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            x = self.layer(x)
            return x, x * 2


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            return self.layer(x + skip)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for flow in analysis.project.knowledge(Boundaries):
            if not flow.stage.is_last:
                continue
            for sent in flow.sent():
                if sent.count in _counts(analysis.project, flow.stage):
                    continue  # made on an earlier stage, and a result all the same
                if sent.count > 1 and sent.origin.passes is not None:
                    typed = _result_alone(sent)
                    yield self.finding(
                        place_of(sent.seen.module, sent.seen.node),
                        object=flow.stage.cls.name,
                        fix=unsafe(replace(sent.seen.module, sent.seen.node, typed)) if typed else None,
                        typed=typed or "return x",
                        cls=flow.stage.cls.name,
                        name=sent.name or tr("element %(index)s", index=sent.index),
                    )
                    break
            else:
                yield from self._several(analysis.project, flow.stage)

    def _several(self, project: Project, stage: Stage) -> Iterator[Finding]:
        """A tuple of the stage's own results, where the original returns one."""
        original = project.knowledge(Originals).of(stage.family)
        first = project.method(original, "forward") if original is not None else None
        forward = stage.cls.methods.get("forward")
        if original is None or first is None or forward is None:
            return
        theirs = _returned(first[1])
        for value in _returned(forward) if all(map(_is_one, theirs)) else ():
            if isinstance(value, ast.Tuple) and (len(value.elts) == 1 or all(map(_is_tensor, theirs))):
                yield self.finding(
                    place_of(stage.cls.module, value),
                    object=stage.cls.name,
                    message="the last stage `%(cls)s` returns a tuple; the original `%(original)s` returns one result",
                    advice="Return the result alone, as the original does.",
                    cls=stage.cls.name,
                    original=original.name,
                )


def _counts(project: Project, stage: Stage) -> set[int]:
    """How many results the original returns, where it returns several."""
    original = project.knowledge(Originals).of(stage.family)
    forward = project.method(original, "forward") if original is not None else None
    values = _returned(forward[1]) if forward is not None else []
    return {len(value.elts) for value in values if isinstance(value, ast.Tuple) and len(value.elts) > 1}


def _returned(function: ast.FunctionDef) -> list[ast.expr]:
    return [node.value for node in walk(function) if isinstance(node, ast.Return) and node.value is not None]


def _is_one(value: ast.expr) -> bool:
    return isinstance(value, ast.Call | ast.BinOp)


def _is_tensor(value: ast.expr) -> bool:
    """Whether a result is one tensor: a sum, or what a function of torch gives."""
    name = (dotted_name(value.func) or "") if isinstance(value, ast.Call) else ""
    return isinstance(value, ast.BinOp) or name.split(".")[0] in ("torch", "F")


def _result_alone(sent: Sent) -> str:
    """The return without what was only passed through; nothing where it is not written out."""
    node = sent.seen.node
    items = sent.seen.origin.items or ()
    if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Tuple):
        return ""
    if len(node.value.elts) != len(items):
        return ""
    kept = [
        ast.unparse(part) for part, item in zip(node.value.elts, items, strict=True) if item.passes is None
    ]
    return f"return {', '.join(kept)}" if kept else ""
