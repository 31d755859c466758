"""E7601"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..finding import Finding
from ..language import listed, tr
from ..project.rolls import (
    Roll,
    half_undone,
    left_out,
    of_two_methods,
    rolls_of,
    same_again,
    undone_otherwise,
)
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
            found = list(rolls_of(module))
            for function, rolls in found:
                for odd, other, entries in undone_otherwise(rolls):
                    yield self._finding(module, function, odd, other, entries)
            for function, rolls in of_two_methods(module, found):
                for odd, other, entries in undone_otherwise(rolls, restoring=True):
                    yield self._finding(module, function, odd, other, entries)
                if same_again(rolls):
                    yield self._half(module, function, rolls[1], "again")
                for roll, how in left_out(rolls):
                    yield self._half(module, function, roll, how)
            alone = sum(len(rolls) for _, rolls in found) == 1
            for function, rolls in found:
                for roll, how in half_undone(function, rolls, alone):
                    yield self._half(module, function, roll, how)

    def _half(self, module: ModuleFacts, function: ast.FunctionDef, roll: Roll, how: str) -> Finding:
        if how == "never":
            problem = tr("shifts the grid, and nothing shifts it back once the windows are merged")
        elif how == "again":
            problem = tr("shifts the grid in the same direction once more, where it should be restored")
        else:
            problem = tr("leaves out axis %(dims)s, which was shifted before", dims=how)
        return self.finding(
            place_of(module, roll.node),
            object=function.name,
            message="this roll %(problem)s",
            advice="Restore every axis by the opposite of its shift, over the same `dims`.",
            problem=problem,
        )

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
