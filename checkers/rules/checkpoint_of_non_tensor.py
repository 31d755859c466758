"""E7310"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.events import FLAG_LEFT_OUT, Checkpointed
from ..tpstate.verdicts import by_site, first_certain, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class CheckpointOfNonTensor(Rule):
    """Megatron's activation checkpoint is given an argument that is no tensor."""

    code, symbol = "E7310", "checkpoint-of-non-tensor"
    message = "Megatron's `checkpoint(fn, distribute, *args)` is given %(bad)s; it can save tensors only"
    advice = "Pass tensors, and build the dict inside: `checkpoint(lambda x, mask: self.fuser({…}), False, x, mask)`."
    why = (
        "The arguments are saved for the backward pass with `ctx.save_for_backward`, which takes tensors and None. A "
        "module of the dict interface has to be wrapped."
    )
    symptom = Symptom.CRASH
    runtime = "TypeError: save_for_backward can only save variables, but argument 0 is of type dict"
    limits = (
        "Silent where the arguments cannot be told. torch.utils.checkpoint takes anything and is not meant."
    )
    guide = "1.4 and Principle 12: checkpoint and the dict interface"
    maturity = "stable"

    bad = """
    from megatron.core import tensor_parallel
    from torch import nn


    class Model_stage1(nn.Module):
        def __init__(self, fuser):
            super().__init__()
            self.fuser = fuser

        def forward(self, x):
            return tensor_parallel.checkpoint(self.fuser, False, {"x": x, "mask": None})  # [checkpoint-of-non-tensor]
    """
    good = """
    from megatron.core import tensor_parallel
    from torch import nn


    class Model_stage1(nn.Module):
        def __init__(self, fuser):
            super().__init__()
            self.fuser = fuser

        def forward(self, x):
            return tensor_parallel.checkpoint(lambda x: self.fuser({"x": x, "mask": None}), False, x)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for found in by_site(analysis.log.events, Checkpointed):
            events = [event for event in found if event.bad != FLAG_LEFT_OUT]
            if not events:
                continue
            event = first_certain(events)
            chosen = event or events[0]
            yield self.finding(
                site_place(chosen.site), object=owner_name(chosen), decided=event is not None, bad=chosen.bad
            )
