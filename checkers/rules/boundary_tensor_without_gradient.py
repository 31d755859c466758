"""E7225"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.boundary import Boundaries, StageFlow
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


_SIZES = re.compile(r"(?:^|_)(?:meta|shapes?|sizes?|dims?)\d*(?:$|_)")


class BoundaryTensorWithoutGradient(Rule):
    """A received tensor does not contribute to what the stage returns, so no gradient goes back for it."""

    code, symbol = "E7225", "boundary-tensor-without-gradient"
    message = (
        "`%(name)s`, received by `%(cls)s`, does not contribute to what it returns: its gradient is None"
    )
    advice = "Use it, or do not send it; sizes come from the constructor's arguments."
    why = (
        "The backward pass sends the gradient of each received tensor back. For one that is None nothing is "
        "sent, and the previous stage waits for ever."
    )
    symptom = Symptom.HANG
    runtime = "the previous stage hangs in recv_backward; NCCL watchdog after its timeout"
    limits = (
        "Reading numbers out of a tensor (`.item()`) carries no gradient. Silent where the value goes to code "
        "that cannot be followed, under no_grad, for a tensor of sizes or positions (stage-passes-computable says that "
        "it need not be sent) and for an integer or bool one (boundary-dtype-mismatch)."
    )
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
            return x, x * 2


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor  # [boundary-tensor-without-gradient]
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
            return self.layer(x) + skip
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        boundaries = analysis.project.knowledge(Boundaries)
        for flow in boundaries:
            trace, unpacked = flow.receiving, flow.unpacked()
            if (
                trace is None
                or unpacked is None
                or trace.is_open
                or trace.without_gradient
                or not trace.returns
            ):
                continue
            used = set(trace.escaped).union(*(seen.origin.carries for seen in trace.returns))
            for index, name in enumerate(unpacked[1]):
                if index not in used and not _is_told_elsewhere(boundaries, flow, index, name):
                    yield self.finding(
                        place_of(unpacked[0].module, unpacked[0].node),
                        object=flow.stage.cls.name,
                        cls=flow.stage.cls.name,
                        name=name or tr("element %(index)s", index=index),
                    )


def _is_told_elsewhere(boundaries: Boundaries, flow: StageFlow, index: int, name: str) -> bool:
    """Whether the element is computable or no float tensor where it was made; by its name where that is not seen."""
    while (previous := flow.stage.previous) is not None:
        flow = boundaries.of(previous)
        sent = [item.origin for item in flow.sent() if item.index == index and item.count > 1]
        if not sent:
            break
        if any(origin.constant or origin.dtype in ("int", "bool") for origin in sent):
            return True
        passed = sent[0].passes
        if passed is None or passed < 0:
            return not sent[0].is_tensor and _SIZES.search(name) is not None
        index = passed
    return _SIZES.search(name) is not None
