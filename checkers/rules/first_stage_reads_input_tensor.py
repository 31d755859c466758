"""E7205"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.boundary import Boundaries
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
    limits = "Reading it in a test (`is None`) is no use. Silent where the order of the stages is not known."
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
                for trace in flow.traces:
                    for seen in trace.reads:
                        yield self.finding(
                            place_of(seen.module, seen.node),
                            object=flow.stage.cls.name,
                            cls=flow.stage.cls.name,
                        )
