"""E7205"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..project.boundary import Boundaries
from ..project.project import Project
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class FirstStageReadsInputTensor(Rule):
    """The first stage computes from `self.input_tensor`, which nobody fills."""

    code, symbol = "E7205", "first-stage-reads-input-tensor"
    message = "the first stage `%(cls)s` computes from `self.input_tensor`, which is None there"
    advice = "Compute from the argument of `forward`."
    why = "No stage sends to the first one: its `input_tensor` is None, and `forward` is given the batch."
    symptom = Symptom.CRASH
    runtime = "TypeError: cannot unpack non-iterable NoneType object"
    limits = (
        "Reading it in a test (`is None`) alone is no use. Silent where the order of the stages is not known."
    )
    guide = "1.3: stage 0 does not read input_tensor"

    bad = """
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.embed = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            x = self.input_tensor[0]  # [first-stage-reads-input-tensor]
            return self.embed(x)


    class Net_stage1(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.input_tensor[0]
    """
    good = """
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.embed = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return self.embed(x)


    class Net_stage1(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.input_tensor[0]
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for flow in analysis.project.knowledge(Boundaries):
            if flow.stage.is_first:
                cls, seen = flow.stage.cls, [seen for trace in flow.traces for seen in trace.reads]
                for one in seen:
                    yield self.finding(place_of(one.module, one.node), object=cls.name, cls=cls.name)
                for node in _guarded_reads(analysis.project, cls) if not seen else ():
                    yield self.finding(
                        place_of(cls.module, node),
                        object=cls.name,
                        message="the first stage `%(cls)s` takes `self.input_tensor` where it is set, and the schedule "
                        "sets it to `[None]`",
                        cls=cls.name,
                    )


def _guarded_reads(project: Project, cls: ClassFacts) -> Iterator[ast.Attribute]:
    """What the forward takes from `self.input_tensor` in a branch that asks whether it is there."""
    forward, setter = cls.methods.get("forward"), project.method(cls, "set_input_tensor")
    if setter is None or any(isinstance(node, ast.Subscript) for node in walk(setter[1])):
        return  # one that stores the first item stores None
    for node in walk(forward) if forward is not None else ():
        if isinstance(node, ast.If) and ast.unparse(node.test) == "self.input_tensor is not None":
            for part in node.body:
                if isinstance(part, ast.Assign):
                    yield from (
                        inner
                        for inner in walk(part.value)
                        if isinstance(inner, ast.Attribute) and ast.unparse(inner) == "self.input_tensor"
                    )
