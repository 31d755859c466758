"""E7623"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..finding import Finding
from ..language import tr
from ..project.axes import Axes, Read
from ..project.axis_sizes import Axis
from ..project.axis_values import Regrouped
from ..rule import Rule, Symptom
from ..tpstate.events import Site
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_CUTS = re.compile(r"(^|_)(partition|patchify|to_windows|split)(_|$)")
_JOINS = re.compile(r"(^|_)(merge|reverse|unpartition|unpatchify|from_windows|departition)(_|$)")


class WindowsNotUndone(Rule):
    """What puts windows together again does not put each cell where it came from."""

    code, symbol = "E7623", "windows-not-undone"
    message = "`%(join)s` does not undo `%(cut)s`: %(problem)s"
    advice = "Write `%(typed)s`, which brings every axis back to its place."
    why = "The cells of a window must come back to the places that they were taken from; all sizes fit in any order."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails: the cells of the result are displaced"
    limits = (
        "Two functions of one class or file, named partition and merge or reverse, each with one view and one permute "
        "whose sizes have the same names."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "Which of the two functions is the odd one cannot be told."

    bad = """
    # one rank of tensor_parallel layers
    def window_partition(x, ws):
        b, h, w, c = x.shape
        x = x.view(b, h // ws, ws, w // ws, ws, c)
        return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, ws, ws, c)


    def window_reverse(windows, ws, h, w):
        x = windows.view(-1, h // ws, w // ws, ws, ws, windows.shape[-1])
        return x.permute(0, 1, 2, 3, 4, 5).reshape(-1, h, w, windows.shape[-1])  # [windows-not-undone]
    """
    good = bad.replace("x.permute(0, 1, 2, 3, 4, 5)", "x.permute(0, 1, 3, 2, 4, 5)").replace(
        "  # [windows-not-undone]", ""
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module, cut, join in _pairs(analysis.project.knowledge(Axes)):
            there, back = cut.regrouped[0], join.regrouped[0]
            found = _mistake(there, back)
            if found is None:
                continue
            node, problem, typed = found
            order = re.findall(r"\d+", typed) if node is back.permute else []
            fits = len(order) == len(back.permute.args)
            edits = [
                replace(module, arg, number) for arg, number in zip(back.permute.args, order, strict=False)
            ]
            yield self.finding(
                place_of(module, node),
                object=join.function.name,
                evidence=(at(Site(module, there.permute), tr("cut here")),),
                fix=unsafe(*edits) if edits and fits else None,
                join=join.function.name,
                cut=cut.function.name,
                problem=problem,
                typed=typed,
            )


def _pairs(axes: Axes) -> Iterator[tuple[ModuleFacts, Read, Read]]:
    """The one function of a file that cuts windows, and the one that joins them."""
    files: dict[str, list[tuple[ModuleFacts, Read]]] = {}
    for module, read in axes.readings:
        if len(read.regrouped) == 1:
            files.setdefault(module.display, []).append((module, read))
    for entries in files.values():
        cuts = [entry for entry in entries if _CUTS.search(entry[1].function.name)]
        joins = [entry for entry in entries if _JOINS.search(entry[1].function.name)]
        if len(cuts) == len(joins) == 1:
            yield cuts[0][0], cuts[0][1], joins[0][1]


def _mistake(there: Regrouped, back: Regrouped) -> tuple[ast.Call, str, str] | None:
    """Where the joining function errs, in which way, and what it should be."""
    count = len(there.sizes)
    if len(back.sizes) != count:
        return None
    left = [_name(there.sizes[index]) for index in there.order]
    taken = [_name(size) for size in back.sizes]
    shared = {name for name in left if name} & {name for name in taken if name}
    unlike = [index for index in range(count) if left[index] != taken[index] and taken[index] in shared]
    if unlike:
        if sorted(name for name in left if name in shared) != sorted(
            name for name in taken if name in shared
        ):
            return None
        first = unlike[0]
        if left[first] not in shared:
            return None
        problem = tr(
            "its view takes axis %(index)d for `%(taken)s`, and it is `%(left)s`",
            index=first,
            taken=taken[first],
            left=left[first],
        )
        return back.view, problem, f"view({', '.join(name or '-1' for name in left)})"
    if len(shared) < 2:
        return None
    order = [there.order[index] for index in back.order]
    if order == sorted(order):
        return None
    wanted = [there.order.index(index) for index in range(count)]
    problem = tr("its permute leaves the axes in another order than they came in")
    return back.permute, problem, f"permute({', '.join(map(str, wanted))})"


def _name(axis: Axis) -> str:
    """The name of a size; nothing for one that each function takes from its own tensor."""
    text = "*".join(axis.parts)
    return "" if "?" in text or "shape" in text or axis.factor > 1 or not text else re.sub(r"@\d+", "", text)
