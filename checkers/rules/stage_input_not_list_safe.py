"""W7207"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding
from ..language import tr
from ..project.boundary import Boundaries
from ..project.stage_classes import is_declared
from ..rule import Rule, Symptom
from ..spmd.received import TensorUse
from ..spmd.virtual_stages import VirtualStages
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
        yield from self._virtual(analysis)
        for flow in analysis.project.knowledge(Boundaries) if analysis.project.follows_guide else ():
            if not is_declared(flow.stage) or flow.receiving is None:
                continue
            for seen in flow.receiving.whole_uses[:1]:
                yield self.finding(
                    place_of(seen.module, seen.node),
                    object=flow.stage.cls.name,
                    cls=flow.stage.cls.name,
                    how=seen.text,
                )

    def _virtual(self, analysis: Analysis) -> Iterator[Finding]:
        """One class for all stages, whose setter keeps the list as it comes."""
        for stage in analysis.project.knowledge(VirtualStages):
            if stage.is_unwrapped or not stage.received:
                continue
            use = TensorUse(stage).find()
            if use is not None:
                node, frame = use
                text = tr(
                    "`set_input_tensor` keeps the list as it comes in `self.%(received)s`",
                    received=stage.received,
                )
                line = stage.setter.scope.function.lineno if stage.setter.scope.function is not None else 1
                yield self.finding(
                    place_of(frame.module, node),
                    object=stage.cls.name,
                    evidence=(Evidence(stage.setter.module.display, line, text),),
                    advice="Take the tensor out in `set_input_tensor`: `self.%(attr)s = input_tensor[0]`.",
                    cls=stage.cls.name,
                    how=f"`{ast.unparse(node)}`",
                    attr=stage.received,
                )
