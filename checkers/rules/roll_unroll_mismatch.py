"""E7601"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.rolls import Roll, rolls_of, undone_otherwise
from ..rule import Rule, Symptom
from ..tpstate.events import Site
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class RollUnrollMismatch(Rule):
    """A window shift is undone by a different shift."""

    code, symbol = "E7601", "roll-unroll-mismatch"
    message = "axis %(axis)s is rolled by `%(forward)s` (line %(line)d) but restored by `%(reverse)s`"
    advice = "Undo each axis by the opposite of what it was rolled by."
    why = "The output of the shifted windows lands in the wrong row or column. All shapes agree, so nothing fails."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails; the features of shifted blocks are displaced, in public weather models along longitude."
    limits = "Silent where the shifts are not tuples of names, attributes and numbers, or where other names are used."
    guide = "beyond the guide"

    bad = """
    import torch
    from torch import nn


    class ShiftedBlock(nn.Module):
        def forward(self, x):
            s_lat, s_lon = self.shift_size
            shifted = torch.roll(x, shifts=(-s_lat, -s_lat), dims=(1, 2))
            y = self.attn(shifted)
            return torch.roll(y, shifts=(s_lat, s_lon), dims=(1, 2))  # [roll-unroll-mismatch]
    """
    good = """
    import torch
    from torch import nn


    class ShiftedBlock(nn.Module):
        def forward(self, x):
            s_lat, s_lon = self.shift_size
            shifted = torch.roll(x, shifts=(-s_lat, -s_lon), dims=(1, 2))
            y = self.attn(shifted)
            return torch.roll(y, shifts=(s_lat, s_lon), dims=(1, 2))
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            for function, rolls in rolls_of(module):
                for forward, reverse, axis in undone_otherwise(rolls):
                    place = place_of(module, reverse.node)
                    yield self.finding(
                        place,
                        object=function.name,
                        evidence=(at(Site(module, forward.node), f"rolled by ({_text(forward)}) here"),),
                        axis=forward.dims[axis],
                        forward=forward.shifts[axis],
                        line=forward.node.lineno,
                        reverse=reverse.shifts[axis],
                    )


def _text(roll: Roll) -> str:
    return ", ".join(roll.shifts)
