"""E7243"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..language import tr
from ..project.project import Project, dotted_name
from ..project.stages import Family, Stages
from ..rule import Rule, Scope, Symptom
from ..tpstate.events import Site
from ..tpstate.stage_models import Stack, integer, stacks
from ..tpstate.verdicts import at, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class BlockNumbersRestart(Rule):
    """The part of a layer on a later stage numbers its blocks from the start again."""

    code, symbol = "E7243", "block-numbers-restart"
    message = "%(problem)s"
    advice = "%(typed)s"
    why = (
        "Every second block of a window transformer is shifted, by its number in the whole layer. A stage that "
        "begins in the middle of a layer must go on counting where the stage before stopped."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "nothing fails: blocks are shifted that were not, and names of weights are those of other blocks"
    )
    limits = (
        "Where the parts of a layer have one name on all stages, and depths follow from default arguments."
    )
    guide = "beyond the guide"
    scope = Scope.GUIDE
    bad = """
    from torch import nn


    class Block(nn.Module):
        def __init__(self, dim, shift):
            super().__init__()
            self.body = nn.Linear(dim, dim)
            self.shift = shift


    class Fuser(nn.Module):
        def __init__(self, dim, depth, num_heads=4, window_size=(2, 6, 12)):
            super().__init__()
            self.blocks = nn.ModuleList(Block(dim, shift=0 if index % 2 == 0 else 3) for index in range(depth))


    class Net_stage0(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            self.layer1 = Fuser(dim, depth=3)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer1(x)


    class Net_stage1(nn.Module):
        def __init__(self, dim=64):
            super().__init__()
            self.layer1 = Fuser(dim, depth=3)  # [block-numbers-restart]

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer1(self.input_tensor[0])
    """
    good = (
        bad.replace("depth, num_heads=4", "depth, first_block=0, num_heads=4")
        .replace("in range(depth)", "in range(first_block, first_block + depth)")
        .replace("depth=3)  # [block-numbers-restart]", "depth=3, first_block=3)")
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for family in analysis.project.knowledge(Stages).families:
            if family.complete:
                yield from self._family(analysis, family)

    def _family(self, analysis: Analysis, family: Family) -> Iterator[Finding]:
        before: dict[str, tuple[int, Stack]] = {}
        for stack in (stack for stage in family.stages for stack in stacks(analysis, stage.cls)):
            done, earlier = before.get(stack.attr, (0, stack))
            if done > 0 and earlier.style == stack.style:
                yield from self._part(analysis, family, stack, done, earlier)
            if stack.depth is None or done < 0:
                before[stack.attr] = (-1, stack)  # not known from here on
            else:
                before[stack.attr] = (done + stack.depth, stack)

    def _part(
        self, analysis: Analysis, family: Family, stack: Stack, done: int, earlier: Stack
    ) -> Iterator[Finding]:
        numbered = _numbering(analysis.project, stack)
        if numbered is None:
            return
        first, period, counted = numbered
        if counted is not None and period is not None:
            yield self.finding(
                site_place(stack.site),
                object=family.name,
                advice="Let the number in the whole layer decide, not `%(index)s`.",
                evidence=(at(counted, tr("counts from the first block of a stage")),),
                problem=tr(
                    "the kinds of the blocks of `%(attr)s` begin anew on this stage: they are those of the whole "
                    "layer only where a multiple of %(period)s of its blocks lies before, %(done)s with the default "
                    "arguments",
                    attr=stack.attr,
                    period=period,
                    done=done,
                ),
                index=as_code(counted.node.left) if isinstance(counted.node, ast.BinOp) else "",
            )
            return
        if first is None and period is not None and done % period == 0:
            return
        start = 0 if first is None else integer(stack.given.get(first))
        if start is None or start == done or (period is None and start > 0):
            return
        problem = tr(
            "`%(attr)s` begins at block %(start)s here, and %(done)s of its blocks are on the stages before",
            attr=stack.attr,
            start=start,
            done=done,
        )
        typed = (
            tr("Pass `%(first)s`: %(done)s with the default arguments.", first=first, done=done)
            if first is not None
            else tr(
                "Give `%(style)s` the number of its first block, and count from there.", style=stack.style
            )
        )
        yield self.finding(
            site_place(stack.site),
            object=family.name,
            advice="%(typed)s",
            evidence=(at(earlier.site, tr("the part of `%(attr)s` before", attr=stack.attr)),),
            problem=problem,
            typed=typed,
        )


def _numbering(project: Project, stack: Stack) -> tuple[str | None, int | None, Site | None] | None:
    """The parameter with the number of the first block, after how many blocks their kinds repeat (None where the number
    only names the blocks), and where that parameter is taken off again. None where no number decides anything."""
    classes = [module.classes[stack.style] for module in project.modules if stack.style in module.classes]
    init = project.method(classes[0], "__init__") if len(classes) == 1 else None
    if init is None:
        return None
    names = {arg.arg for arg in (*init[1].args.args, *init[1].args.kwonlyargs)}
    module = init[0].module
    for node in walk(init[1]):
        if isinstance(node, ast.DictComp) and (offset := _named_from(node, names)) is not None:
            counted = [_remainder(node, as_code(part.target)) for part in node.generators]
            return offset, *_restarting(counted[0], module)
        loops = node.generators if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp) else []
        for target, source in [(part.target, part.iter) for part in loops] + (
            [(node.target, node.iter)] if isinstance(node, ast.For) else []
        ):
            if (
                not isinstance(source, ast.Call)
                or dotted_name(source.func) != "range"
                or len(source.args) > 2
            ):
                continue
            index, first = as_code(target), dotted_name(source.args[0]) if len(source.args) == 2 else None
            if first in names and (again := _remainder(node, f"{index} - {first}")) is not None:
                return first, *_restarting(again, module)
            period = _period(_remainder(node, index))
            if period is None:
                continue
            if len(source.args) == 1:
                return None, period, None
            return (first, period, None) if first in names else None
    return None


def _restarting(counted: ast.BinOp | None, module: ModuleFacts) -> tuple[int | None, Site | None]:
    """After how many blocks kinds repeat that are counted from the first block of a stage, and where."""
    return (_period(counted), Site(module, counted)) if counted is not None else (None, None)


def _named_from(node: ast.DictComp, names: set[str]) -> str | None:
    """`first` of `{str(first + index): … for index in range(count)}`: the parameter that names are counted from."""
    for part in walk(node.key):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            sides = {as_code(part.left), as_code(part.right)}
            counted = {as_code(loop.target) for loop in node.generators}
            if sides & counted and (found := sides & names):
                return found.pop()
    return None


def _remainder(node: ast.AST, name: str) -> ast.BinOp | None:
    """`index % 2` in a loop over `index`."""
    for part in walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod) and as_code(part.left) == name:
            return part
    return None


def _period(remainder: ast.BinOp | None) -> int | None:
    right = remainder.right if remainder is not None else None
    return right.value if isinstance(right, ast.Constant) and isinstance(right.value, int) else None
