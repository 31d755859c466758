"""E7250"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..language import tr
from ..project.project import dotted_name
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_FLAG = re.compile(r"recompute|(?<!load_)(?<!save_)checkpoint|ckpt")
_INVERSE = re.compile(r"\bnot\b|!=|\bis\b|no_|skip|disable|without|off\b|<|>")


class RecomputeBranchWrong(Rule):
    """The flag for recomputing decides whether a layer runs, or recomputes where it is off."""

    code, symbol = "E7250", "recompute-branch-wrong"
    message = "%(problem)s"
    advice = "Write `x = checkpoint(layer, …) if %(flag)s else layer(…)`."
    why = (
        "Recomputing saves memory and changes no value: with the flag or without it, the same layers run. Branches "
        "that are exchanged, or one that is left out, give another model or none of the memory."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "no error: with the flag off a layer is left out; or the flag costs memory where it should save it"
    )
    limits = (
        "Where the flag is tested alone, and the layer is an attribute that nothing else in the method calls."
    )
    guide = "1.4: layers are recomputed by `checkpoint()`"

    bad = """
    from megatron.core.tensor_parallel import checkpoint
    from torch import nn


    class Stage(nn.Module):
        def __init__(self, layer, config):
            super().__init__()
            self.layer, self.recompute = layer, config.recompute_granularity == "full"

        def forward(self, x):
            if self.recompute:
                x = checkpoint(self.layer, False, x)  # [recompute-branch-wrong]
            return x
    """
    good = """
    from megatron.core.tensor_parallel import checkpoint
    from torch import nn


    class Stage(nn.Module):
        def __init__(self, layer, config):
            super().__init__()
            self.layer, self.recompute = layer, config.recompute_granularity == "full"

        def forward(self, x):
            return checkpoint(self.layer, False, x) if self.recompute else self.layer(x)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            if "checkpoint(" not in module.text or analysis.project.is_framework(module):
                continue
            for function in walk(module.tree):
                if isinstance(function, ast.FunctionDef) and "checkpoint(" in module.text_of(function):
                    for node, flag, problem in _problems(function):
                        yield self.finding(
                            place_of(module, node), object=function.name, problem=problem, flag=flag
                        )


def _problems(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str, str]]:
    called = [as_code(node.func) for node in walk(function) if isinstance(node, ast.Call)]
    for node in walk(function):
        if not isinstance(node, ast.If | ast.IfExp) or not _is_flag(node.test):
            continue
        flag, layer = as_code(node.test), _recomputed(node.body)
        if layer is not None:
            if isinstance(node, ast.If) and not node.orelse and called.count(layer) == 0:
                if _is_alone(node.body) and _mentions(function, layer) == 1:
                    problem = tr("`%(layer)s` runs only where `%(flag)s` is set", layer=layer, flag=flag)
                    yield node.body[0], flag, problem
        else:
            layer = _recomputed(node.orelse)
            bodies = node.body if isinstance(node.body, list) else [node.body]
            direct = {
                as_code(part.func) for body in bodies for part in walk(body) if isinstance(part, ast.Call)
            }
            if layer is not None and layer in direct:
                problem = tr(
                    "`%(layer)s` is recomputed where `%(flag)s` is not set, and kept where it is",
                    layer=layer,
                    flag=flag,
                )
                yield node, flag, problem


def _is_flag(test: ast.expr) -> bool:
    """Whether a test is one flag for recomputing, as it stands."""
    name = dotted_name(test) or ""
    return bool(_FLAG.search(name.lower())) and not _INVERSE.search(name.lower())


def _recomputed(body: ast.expr | list[ast.stmt]) -> str | None:
    """The attribute that a branch recomputes, where that is all it does."""
    if isinstance(body, list):
        if len(body) != 1 or not isinstance(body[0], ast.Assign):
            return None
        body = body[0].value
    if not isinstance(body, ast.Call) or not body.args:
        return None
    if (dotted_name(body.func) or "").rsplit(".", 1)[-1] != "checkpoint":
        return None
    layer = as_code(body.args[0])
    return layer if layer.startswith("self.") and dotted_name(body.args[0]) else None


def _is_alone(body: list[ast.stmt]) -> bool:
    """Whether the branch gives a name a new value made from the old one: it is what goes on without the branch."""
    statement = body[0]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target, value = as_code(statement.targets[0]), statement.value
    return isinstance(value, ast.Call) and target in map(as_code, value.args[1:])


def _mentions(function: ast.FunctionDef, layer: str) -> int:
    return sum(isinstance(node, ast.Attribute) and as_code(node) == layer for node in walk(function))
