"""W7215"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.boundary import Boundaries
from ..project.stage_classes import is_declared
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class DynamicBatchInStage(Rule):
    """A stage builds or repeats a mask or buffer for the batch size it sees."""

    code, symbol = "W7215", "dynamic-batch-in-stage"
    message = "`%(cls)s` takes the batch size from a tensor's shape to %(how)s a mask or buffer"
    advice = "Broadcast instead (size 1), or use the configured micro-batch size."
    why = (
        "The boundary shapes of a pipeline are fixed: a micro-batch has one sample. A buffer repeated by a "
        "measured batch costs memory and hides a wrong micro-batch size until the receive."
    )
    symptom = Symptom.TRAP
    runtime = "works at micro-batch size 1; at others the boundary shapes do not fit"
    limits = (
        "Reshaping the features themselves by their own batch size is right. Only `repeat`, `expand` and "
        "factories count."
    )
    guide = "1.4: micro-batch size 1, no dynamic batch"

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
            B = x.shape[0]
            bias = torch.zeros(1, 4).repeat(B, 1)  # [dynamic-batch-in-stage]
            return self.layer(x) + bias
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
            bias = torch.zeros(1, 4)
            return self.layer(x).reshape(B, C, N) + bias
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        reported: set[int] = set()
        for flow in analysis.project.knowledge(Boundaries):
            if not is_declared(flow.stage):
                continue
            for trace in flow.traces:
                for seen in trace.batch_uses:
                    if id(seen.node) in reported:
                        continue
                    reported.add(id(seen.node))
                    how = tr("repeat") if seen.text in ("repeat", "expand") else tr("build")
                    yield self.finding(
                        place_of(seen.module, seen.node),
                        object=flow.stage.cls.name,
                        cls=flow.stage.cls.name,
                        how=how,
                    )
