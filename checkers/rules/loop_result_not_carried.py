"""E7315"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..language import tr
from ..project.project import dotted_name
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class LoopResultNotCarried(Rule):
    """A loop over blocks hands on the result of one block only."""

    code, symbol = "E7315", "loop-result-not-carried"
    message = "%(problem)s: of all `%(blocks)s` only one takes part in the result"
    advice = "%(typed)s"
    why = "Each block must get what the one before it made. The others cost time, and get no gradient."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails; the model is one block deep, and parameters of the others never change"
    limits = (
        "Only for loops over one attribute of the module whose body calls the loop variable. Silent where the "
        "result is used in the loop in another way (collected, added), or where the return stands under a "
        "condition, or behind a `continue`."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "Blocks that run side by side on one input may be meant."

    bad = """
    from torch import nn


    class DistributedFuser(nn.Module):
        def __init__(self, blocks):
            super().__init__()
            self.blocks = nn.ModuleList(blocks)

        def forward(self, x):
            for block in self.blocks:
                y = block(x)  # [loop-result-not-carried]
            return y
    """
    good = """
    from torch import nn


    class DistributedFuser(nn.Module):
        def __init__(self, blocks):
            super().__init__()
            self.blocks = nn.ModuleList(blocks)

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for cls in project.classes():
            forward = cls.methods.get("forward")
            if forward is None or not project.is_module_class(cls) or project.is_framework(cls.module):
                continue
            for loop in walk(forward) if "for " in cls.text else ():
                if isinstance(loop, ast.For) and not loop.orelse:
                    yield from self._loop(cls, forward, loop)

    def _loop(self, cls: ClassFacts, forward: ast.FunctionDef, loop: ast.For) -> Iterator[Finding]:
        blocks, block = dotted_name(loop.iter) or "", dotted_name(loop.target)
        calls = [
            node
            for node in ast.walk(loop)
            if isinstance(node, ast.Call) and block is not None and dotted_name(node.func) == block
        ]
        if not blocks.startswith("self.") or not calls:
            return
        last = loop.body[-1]
        if any(isinstance(node, ast.Continue | ast.Break | ast.Yield) for node in ast.walk(loop)):
            return
        if isinstance(last, ast.Return):
            yield self.finding(
                place_of(cls.module, last),
                object=cls.name,
                problem=tr("the loop returns in its first round"),
                blocks=blocks,
                typed=tr("Put `%(last)s` after the loop.", last=ast.unparse(last)),
            )
        elif len(loop.body) == 1 and isinstance(last, ast.Assign) and last.value is calls[0]:
            result, given = dotted_name(last.targets[0]), [dotted_name(value) for value in calls[0].args]
            later = [
                n
                for n in ast.walk(forward)
                if isinstance(n, ast.Name) and n.id == result and n is not last.targets[0]
            ]
            read = [name for name in later if isinstance(name.ctx, ast.Load)]
            if (
                result is not None
                and len(given) == 1
                and given[0] is not None
                and result != given[0]
                and read
            ):
                yield self.finding(
                    place_of(cls.module, last),
                    object=cls.name,
                    problem=tr(
                        "each round computes `%(result)s` from the same `%(given)s`",
                        result=result,
                        given=given[0],
                    ),
                    fix=unsafe(*(replace(cls.module, name, given[0]) for name in (last.targets[0], *read))),
                    blocks=blocks,
                    typed=tr(
                        "Write `%(given)s = %(calls)s`, and use `%(given)s` after the loop.",
                        given=given[0],
                        calls=ast.unparse(calls[0]),
                    ),
                )
