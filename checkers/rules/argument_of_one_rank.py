"""E7769"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import as_code, walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.scopes import all_arguments, lines_with, nodes_near
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_RANKS = r"(.*[._])?(group|mesh)(\.size\(\)|_size)|.*world_size(\(.*\))?|(.*[._])?(tp|pp|dp|cp|ep|sp)_size|.*num_ranks"
_ONE_RANK = re.compile(rf"({_RANKS}) (==|<=) 1|1 == ({_RANKS})")
_VALUES = re.compile(r"bias|\w+_bias|scale|\w+_scale|weight|residual|dropout(_p)?")


class ArgumentOfOneRank(Rule):
    """A function uses an argument on one rank, and not where there are more."""

    code, symbol = "E7769", "argument-of-one-rank"
    message = "`%(name)s` is used where there is one rank (line %(line)d), and not where there are more"
    advice = "Use `%(name)s` here as well, behind the sum over the ranks where it is whole on each."
    why = (
        "Both ways through the function compute one thing: on one rank at once, on several by parts. What one takes, "
        "the other needs."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails: with several ranks the bias or scale does nothing"
    limits = (
        "A function that returns early where a size is 1, and a parameter that is named for a bias, scale, "
        "weight, residual or dropout."
    )
    guide = "beyond the guide"

    bad = """
    import torch.distributed as dist
    from torch.nn import functional as F


    def row_linear(x, weight, bias, group):
        if dist.get_world_size(group) == 1:
            return F.linear(x, weight, bias)
        out = F.linear(x, weight)
        dist.all_reduce(out, group=group)
        return out  # [argument-of-one-rank]
    """
    good = bad.replace("return out  # [argument-of-one-rank]", "return out + bias")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            lines = lines_with(module.text, "== 1") | lines_with(module.text, "<= 1")
            functions: list[ast.FunctionDef] = []
            for node in nodes_near(module.tree, lines) if lines else ():
                if isinstance(node, ast.FunctionDef):
                    functions.append(node)
                elif isinstance(node, ast.If) and functions and node in functions[-1].body:
                    yield from self._of(module, functions[-1], node)

    def _of(self, module: ModuleFacts, function: ast.FunctionDef, test: ast.If) -> Iterator[Finding]:
        early, last = test.body[-1], function.body[-1]
        if (
            not isinstance(early, ast.Return)
            or not isinstance(last, ast.Return)
            or test.orelse
            or last.value is None
        ):
            return
        if isinstance(last.value, ast.Constant) or as_code(last.value).startswith("self."):
            return  # another method does it, in its own way
        if not _ONE_RANK.fullmatch(as_code(test.test)):
            return
        before = _read(*function.body[: function.body.index(test)])
        behind = _read(*function.body[function.body.index(test) + 1 :])
        for name in (arg.arg for arg in all_arguments(function.args)):
            if _VALUES.fullmatch(name) and name in _read(*test.body) - behind - before:
                yield self.finding(
                    place_of(module, last),
                    object=function.name,
                    evidence=(Evidence(module.display, early.lineno, tr("used here")),),
                    name=name,
                    line=early.lineno,
                )


def _read(*statements: ast.stmt) -> set[str]:
    return {part.id for statement in statements for part in walk(statement) if isinstance(part, ast.Name)}
