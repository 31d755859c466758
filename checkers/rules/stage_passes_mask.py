"""E7211"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.boundary import Boundaries
from ..project.origin import looks_like_mask
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StagePassesMask(Rule):
    """A mask crosses the boundary between two stages."""

    code, symbol = "E7211", "stage-passes-mask"
    message = "`%(cls)s` %(what)s the mask `%(name)s`"
    advice = "Do not send `%(name)s`: each stage that uses it computes it, from a mask that it holds as a constant."
    why = (
        "A mask carries no gradient, so nothing is sent back for it and the neighbour waits in the backward "
        "pass. Every stage can compute it from the same constants, at no bandwidth at all."
    )
    symptom = Symptom.HANG
    runtime = "deadlock in the backward pass, or a dtype error in the receive"
    limits = (
        "A mask is known by its name, by a function with mask in its name, or by its bool type. Sending to "
        "itself is not judged: the last stage may return one."
    )
    guide = "Principle 11: masks never cross stages"

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
            land_mask = (x > 0).float()
            x = self.layer(x)
            return x, land_mask  # [stage-passes-mask]


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, land_mask = self.input_tensor  # [stage-passes-mask]
            return self.layer(x) * land_mask
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
            land_mask = (skip > 0).float()
            return self.layer(x) * land_mask
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for flow in analysis.project.knowledge(Boundaries):
            cls = flow.stage.cls.name
            for sent in flow.sent() if flow.sends else ():
                own = sent.origin.name if sent.origin.kind == "self" else ""
                masks = (
                    sent.origin.is_mask or sent.origin.dtype == "bool" or looks_like_mask(own or sent.name)
                )
                if sent.count > 1 and masks and sent.origin.kind not in ("none", "number"):
                    element = tr("element %(index)s", index=sent.index)
                    name = sent.name or (f"self.{own}" if own else element)
                    where = place_of(sent.seen.module, sent.seen.node)
                    yield self.finding(where, object=cls, cls=cls, what=tr("sends"), name=name)
            unpacked = flow.unpacked() if flow.stage.family.ordered else None
            for name in unpacked[1] if unpacked is not None else ():
                if unpacked is not None and looks_like_mask(name):
                    where = place_of(unpacked[0].module, unpacked[0].node)
                    yield self.finding(where, object=cls, cls=cls, what=tr("receives"), name=name)
