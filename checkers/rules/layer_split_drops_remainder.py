"""W7232"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Finding
from ..project.ramps import counts_stages
from ..project.stages import Stages
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..facts.module import ModuleFacts
    from ..tpstate.analysis import Analysis

_LAYERS = re.compile(
    r"(^|[._])(num_layers|n_layers?|depths?|num_blocks|n_blocks|layers|blocks|processor_size|total_\w+)$"
)
_VALIDATED = re.compile(r"(^|[._ (])(config|args|cfg)\w*\.")
"""What Megatron's own checks have seen before a model is built."""
_CHECKED = re.compile(
    r"\bdivmod\(|%\s*(\(?\s*)?[\w.]*(pp|stages|pipeline|world_size)|math\.ceil\(|-\s*\(\s*-|ensure_divisibility"
)

_CHECKED_BEFORE = re.compile(
    r"\b(assert|if)\b[^\n]*(layers?|depth|blocks)\w*\s*%\s*\(?[\w.]*(pp|pipeline)\w*"
)
"""A script that builds the model has refused a count that does not divide."""


class LayerSplitDropsRemainder(Rule):
    """Layers are divided by the number of stages, and the remainder is lost."""

    code, symbol = "W7232", "layer-split-drops-remainder"
    message = "`%(text)s` drops the remainder: 30 layers on 4 stages build 28"
    advice = (
        "Give the first `%(left)s %% %(right)s` stages one layer more, or refuse: `if %(left)s %% %(right)s: "
        "raise ValueError(…)`."
    )
    why = "A whole-number division silently leaves out up to one layer a stage but one."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "a shallower model is trained, with no error"
    limits = (
        "Silent where the function or its file takes the remainder, uses divmod or asserts, where the last stage "
        "goes on to the whole count, where a script of the tree refuses a count of layers that does not divide, "
        "and for values of Megatron's config, which it validates itself."
    )
    guide = "beyond the guide"

    bad = """
    from megatron.core import parallel_state as ps


    def layers_here(num_layers):
        return num_layers // ps.get_pipeline_model_parallel_world_size()  # [layer-split-drops-remainder]
    """
    good = """
    from megatron.core import parallel_state as ps


    def layers_here(num_layers):
        pp = ps.get_pipeline_model_parallel_world_size()
        if num_layers % pp:
            raise ValueError(f"{num_layers} layers do not fit on {pp} stages")
        return num_layers // pp
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        if any(module.says(_CHECKED_BEFORE) for module in analysis.project.modules):
            return
        for module in analysis.project.knowledge(Stages).rank_aware:
            if "//" not in module.text or module.says(_CHECKED):
                continue
            for function in walk(module.tree):
                if isinstance(function, ast.FunctionDef) and "//" in module.text_of(function):
                    for node in _splits(analysis, module, function):
                        left, right = ast.unparse(node.left), ast.unparse(node.right)
                        yield self.finding(
                            place_of(module, node),
                            object=function.name,
                            text=ast.unparse(node),
                            left=left,
                            right=right,
                        )


def _origin(analysis: Analysis, module: ModuleFacts, function: ast.FunctionDef, count: str) -> str:
    """Where a layer count comes from: what an attribute is set to in this file, what callers pass for a parameter."""
    if count.startswith("self."):
        values = [
            ast.unparse(node.value)
            for node in walk(module.tree)
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == count
        ]
        return " ".join(values)
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    if count not in names:
        return ""
    place = names.index(count) - (names[0] in ("self", "cls"))
    passed = []
    for other in analysis.project.modules:
        if f"{function.name}(" in other.text:
            for call in walk(other.tree):
                if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] == function.name:
                    passed += [keyword.value for keyword in call.keywords if keyword.arg == count]
                    passed += call.args[place : place + 1]
    return " ".join(map(ast.unparse, passed))


def _takes_rest(function: ast.FunctionDef, count: str) -> bool:
    """Whether the last stage goes on to the count: `end = n if last else end`, `min(end, n)`, `n - end`."""
    for node in walk(function):
        held: list[ast.AST] = []
        if isinstance(node, ast.IfExp):
            held = [node.body, node.orelse]
        elif isinstance(node, ast.If):
            held = [part.value for part in (*node.body, *node.orelse) if isinstance(part, ast.Assign)]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "min":
            held = [*node.args]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            held = [node.left]
        if any(isinstance(part, ast.expr) and ast.unparse(part) == count for part in held):
            return True
    return False


def _splits(analysis: Analysis, module: ModuleFacts, function: ast.FunctionDef) -> Iterator[ast.BinOp]:
    """Divisions of a layer count by the number of stages, of names that no framework validates."""
    named = {
        node.targets[0].id: node.value
        for node in walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    asked = {id(part) for node in walk(function) if isinstance(node, ast.Assert) for part in walk(node)}
    for node in walk(function):
        if (
            isinstance(node, ast.BinOp)
            and id(node) not in asked  # a question about the split builds nothing
            and isinstance(node.op, ast.FloorDiv)
            and isinstance(node.left, ast.Name | ast.Attribute)
        ):
            right = named.get(node.right.id, node.right) if isinstance(node.right, ast.Name) else node.right
            left = ast.unparse(node.left)
            source = ast.unparse(named[left]) if left in named else left
            if (
                _LAYERS.search(left)
                and not _VALIDATED.search(f"{source} {ast.unparse(right)}")
                and (counts_stages(right) or counts_stages(node.right))
                and not _VALIDATED.search(_origin(analysis, module, function, left))
                and not _takes_rest(function, left)
            ):
                yield node
