"""W7605"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ModuleFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..project.project import External, FunctionRef, dotted_name
from ..project.scopes import nodes_near
from ..rule import Rule, Symptom
from ..tpstate.fixes import insert_before, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_HELPER = (
    r"(?:(?:all_)?(?:reduce|gather|scatter|copy)(?:_scatter)?(?:_last_dim|_with_backward)?_(?:from|to)_\w+_region"
    r"|tensor_model_parallel_all_(?:reduce|gather))"
)
_STATEMENT = re.compile(
    rf"^[ \t]*(?:\w+\.)*(?:{_HELPER}|all_reduce|broadcast|all_gather_(?:tensor|single)|all_to_all_single"
    r"|reduce_scatter_tensor)\(",
    re.MULTILINE,
)
_COLLECTS = re.compile(r"_region\(|tensor_model_parallel_all_|_functional_collectives|distributed\.nn\b")
_FUNCTIONAL = re.compile(r"torch\.distributed\.(_functional_collectives|nn(\.functional)?)\.\w+")
"""Collectives that return a new tensor and leave the old one as it is."""


class CollectiveResultDiscarded(Rule):
    """The result of a tensor-parallel collective is thrown away."""

    code, symbol = "W7605", "collective-result-discarded"
    message = "`%(call)s` returns the result, and nothing takes it: `%(argument)s` stays what this rank had"
    advice = "Write `%(target)s = %(call)s(%(argument)s)`."
    why = "The region functions are autograd functions: they return a new tensor and promise nothing about the old one."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Each rank goes on with its own part; the loss differs between ranks, silently."
    limits = (
        "Only for calls that stand alone as a statement and name a region function of a parallel library. A discarded "
        "reduce cannot be decided: Megatron's happens to add up in place where its argument is contiguous."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "What follows may have been written for the part of this rank."

    bad = """
    from megatron.core.tensor_parallel import gather_from_tensor_model_parallel_region
    from torch import nn


    class Output(nn.Module):
        def forward(self, x):
            y = x @ self.weight
            gather_from_tensor_model_parallel_region(y)  # [collective-result-discarded]
            return self.norm(y)
    """
    good = """
    from megatron.core.tensor_parallel import gather_from_tensor_model_parallel_region
    from torch import nn


    class Output(nn.Module):
        def forward(self, x):
            y = x @ self.weight
            y = gather_from_tensor_model_parallel_region(y)
            return self.norm(y)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            if not _COLLECTS.search(module.text):
                continue
            lines = {
                module.text.count("\n", 0, match.end()) + 1 for match in _STATEMENT.finditer(module.text)
            }
            near = list(nodes_near(module.tree, lines)) if lines else []
            refused = {
                id(part)
                for node in near
                if isinstance(node, ast.With) and _expects_error(node)
                for part in node.body
            }
            for node in near:
                if (
                    isinstance(node, ast.Expr)
                    and node.lineno in lines
                    and id(node) not in refused
                    and isinstance(node.value, ast.Call)
                    and node.value.args
                ):
                    name = dotted_name(node.value.func) or ""
                    if _is_parallel(analysis, module, name):
                        call, argument = name.rsplit(".", 1)[-1], ast.unparse(node.value.args[0])
                        is_name = isinstance(node.value.args[0], ast.Name | ast.Attribute)
                        target = argument if is_name else "result"
                        is_lost = _is_functional(analysis, module, name) or (
                            "_reduce_from" not in f"_{call}" and "all_reduce" not in call
                        )
                        yield self.finding(
                            place_of(module, node.value),
                            object=call,
                            fix=unsafe(insert_before(module, node, f"{target} = "))
                            if target != "result"
                            else None,
                            decided=is_lost,
                            call=call,
                            argument=argument,
                            target=target,
                        )


def _expects_error(block: ast.With) -> bool:
    """`with pytest.raises(…)`, `with self.assertRaises(…)`: there is no result."""
    return any("raises" in ast.unparse(item.context_expr).lower() for item in block.items)


def _is_functional(analysis: Analysis, module: ModuleFacts, name: str) -> bool:
    ref = analysis.project.resolve(module, name)
    return isinstance(ref, External) and _FUNCTIONAL.match(ref.dotted) is not None


def _is_parallel(analysis: Analysis, module: ModuleFacts, name: str) -> bool:
    ref = analysis.project.resolve(module, name)
    if isinstance(ref, External):
        return "parallel" in ref.dotted or _FUNCTIONAL.match(ref.dotted) is not None
    if not re.fullmatch(_HELPER, name.rsplit(".", 1)[-1]):
        return False  # a function of the tree that is called like one of torch works in place, as that does
    return isinstance(ref, FunctionRef | ClassFacts) and any(
        isinstance(n, ast.Return) and n.value is not None for n in walk(ref.node)
    )
