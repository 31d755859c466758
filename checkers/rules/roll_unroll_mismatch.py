"""E7601"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..finding import Finding
from ..language import listed, tr
from ..project.rolls import Roll, rolls_of, undone_otherwise
from ..rule import Rule, Symptom
from ..tpstate.events import Site
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class RollUnrollMismatch(Rule):
    """A window shift is undone by a different shift."""

    code, symbol = "E7601", "roll-unroll-mismatch"
    message = "this roll %(verb)s %(axes)s by %(shift)s, and line %(line)d moves it by %(other)s"
    advice = "Write the shifts `(%(typed)s)` here: each axis takes the shift of its own name, and back the opposite."
    why = "The output of the shifted windows lands in the wrong row or column. All shapes agree, so nothing fails."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails; the features of shifted blocks are displaced, in public weather models along longitude."
    limits = "Silent where the shifts are not tuples of names, attributes and numbers, or where other names are used."
    guide = "beyond the guide"

    fix_kind = "unsafe"
    fix_note = "Which of the two rolls is the odd one is judged by the names of axes and shifts."

    bad = """
    import torch
    from torch import nn


    class ShiftedBlock(nn.Module):
        def forward(self, x):
            s_lat, s_lon = self.shift_size
            shifted = torch.roll(x, shifts=(-s_lat, -s_lat), dims=(1, 2))  # [roll-unroll-mismatch]
            y = self.attn(shifted)
            return torch.roll(y, shifts=(s_lat, s_lon), dims=(1, 2))
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
                for odd, other, entries in undone_otherwise(rolls):
                    yield self._finding(module, function, odd, other, entries)

    def _finding(
        self, module: ModuleFacts, function: ast.FunctionDef, odd: Roll, other: Roll, entries: dict[int, str]
    ) -> Finding:
        axes = sorted(entries)
        shifts = odd.shift_nodes
        return self.finding(
            place_of(module, odd.node),
            object=function.name,
            evidence=(
                at(
                    Site(module, other.node),
                    tr("rolled by (%(shifts)s) here", shifts=", ".join(other.shifts)),
                ),
            ),
            fix=unsafe(*(replace(module, shifts[axis], entries[axis]) for axis in axes)),
            axes=listed(" and ", (tr("axis %(dims)s", dims=odd.dims[axis]) for axis in axes)),
            shift=listed(" and ", (f"`{odd.shifts[axis]}`" for axis in axes)),
            other=listed(" and ", (f"`{other.shifts[axis]}`" for axis in axes)),
            line=other.node.lineno,
            verb=tr("rolls") if odd.is_forward else tr("restores"),
            typed=", ".join(entries.get(axis, shift) for axis, shift in enumerate(odd.shifts)),
        )
