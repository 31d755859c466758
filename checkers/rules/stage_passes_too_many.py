"""R7213"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.boundary import Boundaries
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StagePassesTooMany(Rule):
    """More than three tensors cross the boundary between two stages."""

    code, symbol = "R7213", "stage-passes-too-many"
    message = "`%(cls)s` sends %(count)d tensors to the next stage"
    advice = "Send the feature tensor and the skip connection; compute the rest on the next stage."
    why = (
        "Every tensor is sent and its gradient sent back for each micro-batch. Bandwidth between stages is "
        "what a pipeline has least of."
    )
    symptom = Symptom.COST
    runtime = "each boundary moves more bytes than the features need"
    limits = "Counts the elements of the returned tuple; whether they can be computed is for the reader."
    guide = "Principle 11: two or three tensors a stage"

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
            return x, x * 2, x * 3, x * 4  # [stage-passes-too-many]


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, a, b, c = self.input_tensor
            return self.layer(x + a + b + c)
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
            return x, x * 2, x * 3


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, a, b = self.input_tensor
            return self.layer(x + a + b)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for flow in analysis.project.knowledge(Boundaries):
            if not flow.stage.family.ordered or flow.stage.is_last:
                continue
            for sent in flow.sent():
                if sent.count > 3 and sent.index == 0:
                    yield self.finding(
                        place_of(sent.seen.module, sent.seen.node),
                        object=flow.stage.cls.name,
                        cls=flow.stage.cls.name,
                        count=sent.count,
                    )
