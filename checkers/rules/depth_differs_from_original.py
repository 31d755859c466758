"""W7229"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding, Fix
from ..language import tr
from ..project.originals import Originals
from ..project.stages import Family, Stages
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.stage_models import BLOCK_COUNTS, HEAD_COUNTS, Stack, integer, stacks
from ..tpstate.verdicts import at, place_of, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class DepthDiffersFromOriginal(Rule):
    """The stages together build other layers than the original model."""

    code, symbol = "W7229", "depth-differs-from-original"
    message = "%(problem)s"
    advice = "%(hint)s"
    why = (
        "The stages take the original's weights, and its results to compare with. Another depth, head count "
        "or window size has no place for them."
    )
    symptom = Symptom.TRAP
    runtime = "missing or unexpected keys when the original's weights are loaded"
    limits = (
        "Default arguments of both; layers are matched by attribute. Silent where no original model is found "
        "or a value is not known."
    )
    guide = "1.4: weights of the original model can be loaded"
    fix_kind = "unsafe"
    fix_note = "The stages may be deeper on purpose; checkpoints change their shape."

    bad = """
    from torch import nn


    class Fuser(nn.Module):
        def __init__(self, dim, depth, num_heads=4, window_size=(2, 6, 12)):
            super().__init__()
            self.body = nn.Linear(dim, dim)

        def forward(self, x):
            return self.body(x)


    class Net(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            self.layer1 = Fuser(dim, depth=2)
            self.layer2 = Fuser(dim, depth=2)

        def forward(self, x):
            return self.layer2(self.layer1(x))


    class Net_stage0(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            self.layer1 = Fuser(dim, depth=2)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer1(x)


    class Net_stage1(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            self.layer2 = Fuser(dim, depth=4)  # [depth-differs-from-original]

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer2(self.input_tensor[0])
    """
    good = """
    from torch import nn


    class Fuser(nn.Module):
        def __init__(self, dim, depth, num_heads=4, window_size=(2, 6, 12)):
            super().__init__()
            self.body = nn.Linear(dim, dim)

        def forward(self, x):
            return self.body(x)


    class Net(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            self.layer1 = Fuser(dim, depth=2)
            self.layer2 = Fuser(dim, depth=2)

        def forward(self, x):
            return self.layer2(self.layer1(x))


    class Net_stage0(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            self.layer1 = Fuser(dim, depth=2)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer1(x)


    class Net_stage1(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            self.layer2 = Fuser(dim, depth=2)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer2(self.input_tensor[0])
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for family in analysis.project.knowledge(Stages).families:
            if not family.complete:
                continue
            original = analysis.project.knowledge(Originals).of(family)
            theirs = stacks(analysis, original) if original is not None else []
            mine = [stack for stage in family.stages for stack in stacks(analysis, stage.cls)]
            if theirs and mine:
                yield from self._compare(family, mine, theirs)

    def _compare(self, family: Family, mine: list[Stack], theirs: list[Stack]) -> Iterator[Finding]:
        shared = {stack.attr for stack in mine} & {stack.attr for stack in theirs}
        if not shared:
            yield from self._total(family, mine, theirs)
            return
        for wanted in theirs:
            parts = [stack for stack in mine if stack.attr == wanted.attr]
            if not parts and wanted.attr:
                text = tr(
                    "no stage builds `%(wanted)s` (%(style)s) of the original model",
                    wanted=wanted.attr,
                    style=wanted.style,
                )
                line = wanted.site.node.lineno
                hint = tr(
                    "Build `%(wanted)s` on one of the stages, as line %(line)s of the original does.",
                    wanted=wanted.attr,
                    line=line,
                )
                yield self._finding(family, None, wanted, text, hint)
            elif parts:
                yield from self._layer(family, parts, wanted)

    def _layer(self, family: Family, parts: list[Stack], wanted: Stack) -> Iterator[Finding]:
        depths = [part.depth for part in parts]
        depth = None if None in depths else sum(part.depth or 0 for part in parts)
        rows: list[tuple[str, object, object]] = [(tr("blocks"), depth, wanted.depth)]
        rows.append((tr("heads"), parts[0].heads, wanted.heads))
        rows.append((tr("window"), parts[0].window, wanted.window))
        for what, mine, theirs in rows:
            if mine is not None and theirs is not None and mine != theirs:
                text = tr(
                    "`%(wanted)s` has %(mine)s %(what)s on the stages",
                    wanted=wanted.attr,
                    mine=mine,
                    what=what,
                )
                problem = tr("%(text)s, %(theirs)s in the original model", text=text, theirs=theirs)
                hint, fix = _typed(parts, what, theirs, wanted)
                yield self._finding(family, parts[0], wanted, problem, hint, fix)

    def _total(self, family: Family, mine: list[Stack], theirs: list[Stack]) -> Iterator[Finding]:
        if any(stack.depth is None for stack in (*mine, *theirs)):
            return
        here, there = (sum(stack.depth or 0 for stack in found) for found in (mine, theirs))
        if here != there:
            text = tr(
                "the stages build %(here)s blocks together, the original model %(there)s",
                here=here,
                there=there,
            )
            hint = tr(
                "Give the stages depths that add up to %(there)s: they are %(depths)s now.",
                there=there,
                depths=_depths(mine),
            )
            yield self._finding(family, mine[0], theirs[0], text, hint)

    def _finding(
        self,
        family: Family,
        stack: Stack | None,
        wanted: Stack,
        problem: str,
        hint: str,
        fix: Fix | None = None,
    ) -> Finding:
        last = family.stages[-1].cls
        given = fix.edits[0].place if fix is not None else None
        return self.finding(
            site_place(stack.site) if stack is not None else place_of(last.module, last.node),
            object=family.name,
            evidence=(
                at(wanted.site, tr("`%(wanted)s` of the original model", wanted=wanted.attr)),
                *([Evidence(given.path, given.line, tr("given here"))] if given is not None else []),
            ),
            fix=fix,
            problem=problem,
            hint=hint,
        )


_KEYWORDS = {"blocks": BLOCK_COUNTS, "heads": HEAD_COUNTS, "window": ("window_size", "window")}


_PARTS = ("num_local", "num_global", "depth_local")


def _typed(parts: list[Stack], what: str, theirs: object, wanted: Stack) -> tuple[str, Fix | None]:
    """What to type, in words and, where the value stands in one call, as an edit."""
    attr = wanted.attr
    if len(parts) > 1 and what == "blocks":
        return (
            tr(
                "Give the parts of `%(attr)s` depths that add up to %(theirs)s: they are %(depths)s now.",
                attr=attr,
                theirs=theirs,
                depths=_depths(parts),
            ),
            None,
        )
    site = parts[0].site
    keywords = site.node.keywords if isinstance(site.node, ast.Call) else []
    count = _other_count(parts[0], wanted) if what == "blocks" else None
    if count is not None:
        name, theirs = count
        given = next((keyword for keyword in keywords if keyword.arg == name), None)
        hint = tr(
            "Write `%(arg)s=%(theirs)s` for `%(attr)s`, or change the original model too.",
            arg=name,
            theirs=theirs,
            attr=attr,
        )
        return hint, unsafe(replace(site.module, given.value, str(theirs))) if given is not None else None
    written = next((keyword for keyword in keywords if keyword.arg in _KEYWORDS[what]), None)
    if written is None:
        return tr(
            "Give `%(attr)s` %(theirs)s %(what)s, or change the original model too.",
            attr=attr,
            theirs=theirs,
            what=what,
        ), None
    hint = tr(
        "Write `%(arg)s=%(theirs)s` for `%(attr)s`, or change the original model too.",
        arg=written.arg,
        theirs=theirs,
        attr=attr,
    )
    return hint, unsafe(replace(site.module, written.value, str(theirs)))


def _other_count(stack: Stack, wanted: Stack) -> tuple[str, int] | None:
    """The one count of a part of the blocks that differs, and what the original has: `num_global`."""
    pairs = [(name, integer(stack.given.get(name)), integer(wanted.given.get(name))) for name in _PARTS]
    unlike = [(name, theirs) for name, mine, theirs in pairs if theirs is not None and mine != theirs]
    return unlike[0] if len(unlike) == 1 else None


def _depths(parts: list[Stack]) -> str:
    return " + ".join(str(part.depth) for part in parts)
