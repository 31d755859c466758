"""W7207"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.boundary import Boundaries
from ..project.stage_classes import is_declared
from ..rule import Rule, Scope, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StageInputNotListSafe(Rule):
    """What a stage received is used as one tensor, but the schedule hands over a list."""

    code, symbol = "W7207", "stage-input-not-list-safe"
    message = "`%(cls)s` uses the received value as a tensor (%(how)s), but the schedule hands over a list"
    advice = (
        "Take the tensor out first: `x = x[0]`, under `if isinstance(x, (list, tuple)):` where both may come."
    )
    why = "`recv_forward` gives a list, also of one tensor; a test for tuple alone lets it through."
    symptom = Symptom.CRASH
    runtime = "AttributeError: 'list' object has no attribute 'shape', or a list unpacking error"
    limits = "Unpacking and indexing work for lists and tuples alike. Passing it to code that cannot be seen is no use."
    guide = "1.3: recv_forward returns a list"
    scope = Scope.GUIDE

    bad = """
    from torch import nn


    class Net_stage1(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x = self.input_tensor
            return x.transpose(1, 2)  # [stage-input-not-list-safe]
    """
    good = """
    from torch import nn


    class Net_stage1(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x = self.input_tensor
            if isinstance(x, (list, tuple)):
                x = x[0]
            return x.transpose(1, 2)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for flow in analysis.project.knowledge(Boundaries):
            if not is_declared(flow.stage) or flow.receiving is None:
                continue
            for seen in flow.receiving.whole_uses[:1]:
                yield self.finding(
                    place_of(seen.module, seen.node),
                    object=flow.stage.cls.name,
                    cls=flow.stage.cls.name,
                    how=seen.text,
                )
