"""E7216"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.originals import Originals
from ..project.ramps import alike, local_ramps, same
from ..project.stages import Family, Stages
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.stage_models import RATES, Stack, stacks
from ..tpstate.verdicts import at, place_of, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class DropPathNotFromTotalDepth(Rule):
    """The drop-path rates of the stages are not the slices of one ramp over the whole depth."""

    code, symbol = "E7216", "drop-path-not-from-total-depth"
    message = "%(problem)s"
    advice = "%(hint)s"
    why = (
        "Stochastic depth grows over the whole network. A ramp that starts again on every stage, or another "
        "slice than the original model gives the layer, trains another model than the one that is copied."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "drop rates restart at 0 on each stage; the loss differs from that of the original model, with no "
        "error"
    )
    limits = (
        "Rates are computed with the default arguments. Silent where they are not all numbers, and where the "
        "original model has the same rates, tiled or not."
    )
    guide = "1.4: drop_path from the total depth"
    fix_kind = "unsafe"
    fix_note = "Regularisation changes from here on, so runs cannot be compared."

    bad = """
    import numpy as np
    from torch import nn


    class Fuser(nn.Module):
        def __init__(self, dim, depth, num_heads=4, window_size=(2, 6, 12), drop_path=0.0):
            super().__init__()
            self.body = nn.Linear(dim, dim)

        def forward(self, x):
            return self.body(x)


    class Net_stage0(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            rates = np.linspace(0, 0.2, 8).tolist()
            self.layer1 = Fuser(dim, depth=4, drop_path=rates[:4])

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer1(x)


    class Net_stage1(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            rates = np.linspace(0, 0.2, 4).tolist()
            self.layer2 = Fuser(dim, depth=4, drop_path=rates)  # [drop-path-not-from-total-depth]

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer2(self.input_tensor[0])
    """
    good = """
    import numpy as np
    from torch import nn


    class Fuser(nn.Module):
        def __init__(self, dim, depth, num_heads=4, window_size=(2, 6, 12), drop_path=0.0):
            super().__init__()
            self.body = nn.Linear(dim, dim)

        def forward(self, x):
            return self.body(x)


    class Net_stage0(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            rates = np.linspace(0, 0.2, 8).tolist()
            self.layer1 = Fuser(dim, depth=4, drop_path=rates[:4])

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer1(x)


    class Net_stage1(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            rates = np.linspace(0, 0.2, 8).tolist()
            self.layer2 = Fuser(dim, depth=4, drop_path=rates[4:])

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer2(self.input_tensor[0])
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for family in analysis.project.knowledge(Stages).families:
            if family.complete:
                yield from self._family(analysis, family)
        for ramp in local_ramps(analysis.project):
            yield self.finding(
                place_of(ramp.module, ramp.node),
                object=ramp.module.name,
                problem=tr(
                    "the drop-path rates run over `%(depth)s`, the blocks of one stage, instead of all blocks",
                    depth=ramp.depth,
                ),
                hint=tr(
                    "Make the ramp for all blocks of the model, not for `%(depth)s`, and take this stage's "
                    "slice: `rates[start : start + depth]`, with `start` the number of blocks on the stages "
                    "in front.",
                    depth=ramp.depth,
                ),
            )

    def _family(self, analysis: Analysis, family: Family) -> Iterator[Finding]:
        mine = [stack for stage in family.stages for stack in stacks(analysis, stage.cls)]
        if not any(stack.has_rates for stack in mine):
            return
        original = analysis.project.knowledge(Originals).of(family)
        theirs = {stack.attr: stack for stack in stacks(analysis, original)} if original is not None else {}
        shared = [stack.attr for stack in mine if stack.attr in theirs]
        if shared and all(theirs[attr].rates for attr in shared):
            yield from self._against(family, mine, theirs)
        elif not shared and all(_is_full(stack) for stack in mine):
            yield from self._tiling(mine)

    def _against(self, family: Family, mine: list[Stack], theirs: dict[str, Stack]) -> Iterator[Finding]:
        """Compare layer by layer with the original; a layer may be split over stages."""
        for attr, wanted in theirs.items():
            named = [stack for stack in mine if stack.attr == attr]
            cut = wanted.rated if _is_full(wanted) else None
            taken = [(stack, stack.rates_taken(stack.rated == cut)) for stack in named]
            parts = [(stack, rates) for stack, rates in taken if rates]
            total, start = sum(len(rates) for _, rates in parts), 0
            for stack, rates in parts:
                expected = wanted.rates or ()
                if total == len(expected):
                    expected = expected[start : start + len(rates)]
                    right = same(expected, rates)
                elif (stack.depth, stack.grouped) == (wanted.depth, wanted.grouped) and _is_full(wanted):
                    right = same(expected, rates[: len(expected)])
                else:
                    right = len(parts) > 1 or alike(expected, rates)
                start += len(rates)
                if not right:
                    text = tr("`%(attr)s` gets the drop-path rates %(rates)s", attr=attr, rates=_text(rates))
                    typed = _typed(stack, wanted, expected)
                    blocks = (
                        tr(
                            " for the %(number)s blocks that it should have, and no more blocks than rates",
                            number=len(expected),
                        )
                        if len(expected) != len(rates)
                        else ""
                    )
                    yield self.finding(
                        site_place(stack.site),
                        object=family.name,
                        evidence=(at(wanted.site, tr("`%(attr)s` of the original model", attr=attr)),),
                        hint=tr(
                            "Give `%(attr)s` what the original gives it%(blocks)s: `%(typed)s`.",
                            attr=attr,
                            blocks=blocks,
                            typed=typed,
                        ),
                        problem=tr(
                            "%(text)s, the original model gives it %(expected)s",
                            text=text,
                            expected=_text(expected),
                        ),
                    )

    def _tiling(self, mine: list[Stack]) -> Iterator[Finding]:
        rates = [rate for stack in mine for rate in stack.rates or ()]
        top, count = max(rates), len(rates)
        if count < 2 or not top or same(rates, [top * index / (count - 1) for index in range(count)]):
            return
        done = 0
        for stack in mine:
            slice_ = stack.rates or ()
            wanted = [top * index / (count - 1) for index in range(done, done + len(slice_))]
            if not same(slice_, wanted):
                text = tr(
                    "`%(stack)s` gets the drop-path rates %(slice)s, its slice of one ramp over all ",
                    stack=stack.attr,
                    slice=_text(slice_),
                )
                typed = f"linspace(0, {top:g}, {count})[{done}:{done + len(slice_)}].tolist()"
                library = "np" if "np" in stack.site.module.bindings else "torch"
                typed, keyword = f"{library}.{typed}", _keyword(stack)
                yield self.finding(
                    site_place(stack.site),
                    object=stack.attr,
                    fix=unsafe(replace(stack.site.module, keyword.value, typed))
                    if keyword is not None
                    else None,
                    hint=tr(
                        "Give `%(stack)s` its slice of one ramp over all %(count)s blocks: `%(typed)s`.",
                        stack=stack.attr,
                        count=count,
                        typed=typed,
                    ),
                    problem=tr(
                        "%(text)s%(count)s blocks is %(wanted)s", text=text, count=count, wanted=_text(wanted)
                    ),
                )
            done += len(slice_)


def _keyword(stack: Stack) -> ast.keyword | None:
    """The keyword that gives a stack its rates."""
    keywords = stack.site.node.keywords if isinstance(stack.site.node, ast.Call) else []
    return next((keyword for keyword in keywords if keyword.arg in RATES), None)


def _typed(stack: Stack, wanted: Stack, expected: Sequence[float]) -> str:
    """What gives `stack` the rates `expected` of the original: an expression that holds where the stack is built."""
    keyword, original = _keyword(stack), _keyword(wanted)
    prefix = f"{keyword.arg}=" if keyword is not None else ""
    if (
        original is not None
        and isinstance(original.value, ast.Subscript)
        and len(expected) == len(wanted.rates or ())
    ):
        ramp, slice_ = original.value.value, original.value.slice
        here, there = _ramp(stack, ramp), _ramp(wanted, ramp)
        if there and not any(isinstance(node, ast.Name) for node in ast.walk(slice_)):
            return f"{prefix}{ast.unparse(ramp) if here == there else there}[{ast.unparse(slice_)}]"
    library = "np" if "np" in stack.site.module.bindings else "torch"
    return f"{prefix}{library}.linspace({expected[0]:.6g}, {expected[-1]:.6g}, {len(expected)}).tolist()"


def _ramp(stack: Stack, name: ast.expr) -> str:
    """The one expression that the constructor of `stack` gives to `name`, with its defaults in place of parameters.

    Empty where it takes anything that another constructor may lack.
    """
    function = stack.site.function
    if not isinstance(name, ast.Name) or not isinstance(function, ast.FunctionDef):
        return ""
    made = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name.id]
    ]
    if len(made) != 1:
        return ""
    positional = [*function.args.posonlyargs, *function.args.args]
    pairs = [*zip(reversed(positional), reversed(function.args.defaults), strict=False)]
    defaults = {parameter.arg: ast.unparse(default) for parameter, default in pairs}
    names = {node.id for node in ast.walk(made[0]) if isinstance(node, ast.Name)}
    if not names <= {*stack.site.module.bindings, *defaults, *vars(builtins)}:
        return ""
    text = ast.unparse(made[0])
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda word: defaults.get(word.group(), word.group()), text)


def _is_full(stack: Stack) -> bool:
    """Whether there is one rate for each block."""
    return stack.rates is not None and len(stack.rates) == stack.rated


def _text(rates: Sequence[float]) -> str:
    if len(rates) > 1:
        return tr("%(rates).3g to %(last).3g", rates=rates[0], last=rates[-1])
    return f"{rates[0]:.3g}" if rates else "none"
