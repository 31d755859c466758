"""E7212"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..language import tr
from ..project.boundary import Boundaries, Sent
from ..project.scopes import assignments
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_KINDS = {
    "number": tr("a Python number"),
    "text": tr("a text"),
    "none": "None",
    "shape": tr("a shape"),
    "tuple": tr("a tuple"),
    "list": tr("a list"),
    "dict": tr("a dict"),
    "numbers": tr("a list of numbers"),
}


class StagePassesNonTensor(Rule):
    """A value that is no tensor crosses the boundary between two stages."""

    code, symbol = "E7212", "stage-passes-non-tensor"
    message = "`%(cls)s` sends %(kind)s (`%(name)s`) to the next stage"
    advice = "Compute it on the next stage, from its constructor's arguments."
    why = "The pipeline sends tensors only. Numbers, shapes, texts, None and containers are no tensors."
    symptom = Symptom.CRASH
    runtime = "AttributeError: 'int' object has no attribute 'shape' in the send"
    limits = "Only values whose type is certain. Silent on last stages."
    guide = "1.4 and principle 11: only feature tensors cross stages"

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
            B, N, C = x.shape
            x = self.layer(x)
            return x, N  # [stage-passes-non-tensor]


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, n = self.input_tensor
            return self.layer(x)
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
            B, N, C = x.shape
            x = self.layer(x).reshape(B, N, C)
            return x, x * 2


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, n = self.input_tensor
            return self.layer(x)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for flow in analysis.project.knowledge(Boundaries):
            if not flow.stage.family.ordered or flow.stage.is_last:
                continue
            for sent in flow.sent():
                kind = _KINDS.get(sent.origin.kind) or _held(flow.stage.cls, sent)
                if kind is not None and (sent.count > 1 or sent.origin.kind != "none"):
                    if sent.count == 1 and sent.origin.kind in ("list", "dict"):
                        continue
                    yield self.finding(
                        place_of(sent.seen.module, sent.seen.node),
                        object=flow.stage.cls.name,
                        cls=flow.stage.cls.name,
                        kind=kind,
                        name=sent.name or tr("element %(index)s", index=sent.index),
                    )


def _held(cls: ClassFacts, sent: Sent) -> str | None:
    """What an attribute holds that is sent, where the class sets it once, to what is no tensor as it is written."""
    if sent.origin.kind != "self" or "." in sent.origin.name:
        return None
    given = [
        value
        for node in walk(cls.node)
        for target, value in assignments(node)
        if as_code(target) == f"self.{sent.origin.name}"
    ]
    value = given[0] if len(given) == 1 else None
    if isinstance(value, ast.Tuple | ast.List):
        return _KINDS["tuple" if isinstance(value, ast.Tuple) else "list"]
    if isinstance(value, ast.Constant) and type(value.value) in (int, float, str):
        return _KINDS["text" if isinstance(value.value, str) else "number"]
    return None
