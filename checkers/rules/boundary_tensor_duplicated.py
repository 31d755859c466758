"""R7226"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.boundary import Boundaries
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class BoundaryTensorDuplicated(Rule):
    """One tensor is sent to the next stage twice."""

    code, symbol = "R7226", "boundary-tensor-duplicated"
    message = "`%(cls)s` sends one tensor twice, as `%(first)s` and `%(second)s`"
    advice = "Send it once and let the next stage use it for both."
    why = (
        "The copies are equal on arrival, so half of the bytes and half of the gradients are sent for "
        "nothing."
    )
    symptom = Symptom.COST
    runtime = "the boundary moves twice the bytes"
    limits = "Plain copies only; silent where the two differ by then, and on last stages."
    guide = "beyond the guide"

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
            skip = x
            return x, skip  # [boundary-tensor-duplicated]


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            return self.layer(x) + skip
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
            skip = x
            x = self.layer(x)
            return x, skip


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            return self.layer(x) + skip
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for flow in analysis.project.knowledge(Boundaries):
            if not flow.stage.family.ordered or flow.stage.is_last:
                continue
            earlier: dict[tuple[int, int], str] = {}
            for sent in flow.sent():
                key = (id(sent.seen), sent.origin.source)
                name = sent.name or tr("element %(index)s", index=sent.index)
                if sent.origin.source and sent.origin.is_tensor and key in earlier:
                    yield self.finding(
                        place_of(sent.seen.module, sent.seen.node),
                        object=flow.stage.cls.name,
                        cls=flow.stage.cls.name,
                        first=earlier[key],
                        second=name,
                    )
                earlier.setdefault(key, name)
