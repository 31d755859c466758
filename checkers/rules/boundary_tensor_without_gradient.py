"""E7225"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.boundary import Boundaries, StageFlow
from ..project.flow import Seen, Trace
from ..project.stages import Stage
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
            for seen, index, name in _unused(flow.receiving):
                if not _is_told_elsewhere(boundaries, flow, index, name):
                    yield self._found(flow.stage, seen, index, name, flow.stage.cls.name)
        for dispatched in boundaries.dispatched():
            kind = ", ".join(f'{name} = "{text}"' for name, text in dispatched.branch.texts.items())
            for seen, index, name in _unused(dispatched.receiving):
                if _SIZES.search(name) is None:
                    yield self._found(
                        dispatched.stage, seen, index, name, f"{dispatched.stage.cls.name} ({kind})"
                    )

    def _found(self, stage: Stage, seen: Seen, index: int, name: str, cls: str) -> Finding:
        return self.finding(
            place_of(seen.module, seen.node),
            object=stage.cls.name,
            cls=cls,
            name=name or tr("element %(index)s", index=index),
        )


def _unused(trace: Trace | None) -> Iterator[tuple[Seen, int, str]]:
    """Received tensors that nothing returned is made of: where they are unpacked, their places and names."""
    if trace is None or trace.is_open or trace.without_gradient or not trace.returns:
        return
    if len({len(names) for _, names in trace.unpacks}) != 1:
        return
    seen, names = trace.unpacks[0]
    used = set(trace.escaped).union(*(returned.origin.carries for returned in trace.returns))
    yield from ((seen, index, name) for index, name in enumerate(names) if index not in used)


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
