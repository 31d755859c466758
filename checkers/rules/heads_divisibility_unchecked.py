"""W7116"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..project.refused_heads import RefusedHeads, is_key_value
from ..rule import Rule, Symptom
from ..tpstate.events import Built
from ..tpstate.fixes import either, lines_before, statement_of
from ..tpstate.parameter_events import Divided
from ..tpstate.values import HEADS, Sym
from ..tpstate.verdicts import by_site, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class HeadsDivisibilityUnchecked(Rule):
    """Heads per rank are computed by `heads // tp` with no check that it divides."""

    code, symbol = "W7116", "heads-divisibility-unchecked"
    message = "`%(name)s` is divided by the TP size with no check that it divides"
    advice = "Write before it: `%(typed)s`."
    why = (
        "25 heads on 2 ranks silently become 12 on each: one head is lost, or a reshape fails far from here."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "shape '[...]' is invalid for input of size ..., or a model with fewer heads"
    limits = (
        "Silent where the class, one of its bases, or a layer it gives the count to tests a remainder (for "
        "key/value heads: one that is not of the query heads alone), where `divide` is used, where the count is "
        "read from a configuration or another object, which may check itself, where a script or configuration "
        "refuses such heads, of this name or of one that is handed on under it, and in vLLM and SGLang, which "
        "check when they start."
    )
    guide = "Principle 8: num_heads must be divisible by tp_size"
    fix_kind = "safe"
    fix_note = (
        "Counts that divide see no difference. A quotient that is part of a larger expression, as in "
        "`max(1, heads // tp)`, may be meant for others too and needs a reader."
    )

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Query(nn.Module):
        def __init__(self, dim, num_heads, config):
            super().__init__()
            self.heads = num_heads // config.tensor_model_parallel_size  # [heads-divisibility-unchecked]
            self.q_proj = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            return self.q_proj(x)[0].unflatten(-1, (self.heads, -1))
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Query(nn.Module):
        def __init__(self, dim, num_heads, config):
            super().__init__()
            if num_heads % config.tensor_model_parallel_size:
                raise ValueError("num_heads must be a multiple of the TP size")
            self.heads = num_heads // config.tensor_model_parallel_size
            self.q_proj = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            return self.q_proj(x)[0].unflatten(-1, (self.heads, -1))
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        mro = analysis.project.mro
        said: set[tuple[ClassFacts, str]] = set()
        for events in by_site(analysis.log.events, Divided):
            event = next((event for event in events if _counts_heads(event)), events[0])
            if not _counts_heads(event) or event.owner is None or not _is_written(event):
                continue
            if (event.owner, event.name) in said or _rounds_up(event) or _is_asked_later(event):
                continue
            if event.site.module.name.split(".")[0] in ("vllm", "sglang"):
                continue
            if event.name.startswith("self.") and event.name.count(".") > 1:
                continue  # the heads of another object, which may check them
            holders = [entry for entry in mro(event.owner) if isinstance(entry, ClassFacts)]
            holders += _given(analysis, event.owner, event.name)
            own = is_key_value(event.name)
            if analysis.project.knowledge(RefusedHeads).speaks(event.name, key_value=own):
                continue
            if not any(_tests_remainder(holder, own) for holder in holders):
                said.add((event.owner, event.name))
                typed = f"assert {_left(event)} % {_right(event)} == 0"
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    fix=either(_is_all(event), lines_before(event.site.module, event.site.node, typed)),
                    name=event.name,
                    typed=typed,
                )


def _is_all(event: Divided) -> bool:
    """Whether the quotient is all that its statement computes."""
    statement = statement_of(event.site.module, event.site.node)
    return isinstance(statement, ast.AugAssign) or getattr(statement, "value", None) is event.site.node


def _counts_heads(event: Divided) -> bool:
    """Whether what is divided is a head count that has a name of its own."""
    top = event.top
    return (
        isinstance(top, Sym) and HEADS in top.tags and all(atom.isidentifier() for atom in top.poly.atoms())
    )


def _left(event: Divided) -> str:
    """What is divided, as it is written."""
    node = event.site.node
    left = node.left if isinstance(node, ast.BinOp) else getattr(node, "target", None)
    return ast.unparse(left) if left is not None else event.name


def _is_asked_later(event: Divided) -> bool:
    """Whether a method other than the constructor divides an attribute: what was built with it may have checked it."""
    init = event.owner.methods.get("__init__") if event.owner is not None else None
    line = event.site.node.lineno
    return (
        init is not None
        and event.name.startswith("self.")
        and not init.lineno <= line <= (init.end_lineno or line)
    )


def _rounds_up(event: Divided) -> bool:
    """`(heads + tp - 1) // tp`, `ceil(heads / tp)`: each rank holds at least its share, no head is lost."""
    node = event.site.node
    left = node.left if isinstance(node, ast.BinOp) else None
    statement = statement_of(event.site.module, node)
    for part in ast.walk(statement) if statement is not None else ():
        if isinstance(part, ast.Call) and ast.unparse(part.func).rsplit(".", 1)[-1] == "ceil":
            if node in part.args:
                return True
    return (
        isinstance(left, ast.BinOp)
        and isinstance(left.op, ast.Sub)
        and isinstance(left.right, ast.Constant)
        and ast.unparse(left.left).endswith(f"+ {_right(event)}")
    )


def _right(event: Divided) -> str:
    """What it is divided by, in brackets where it has an operator."""
    node = event.site.node
    right = node.right if isinstance(node, ast.BinOp) else getattr(node, "value", None)
    text = ast.unparse(right) if right is not None else "tp_size"
    return text if isinstance(right, ast.Name | ast.Attribute | ast.Call | ast.Constant) else f"({text})"


def _given(analysis: Analysis, owner: ClassFacts, name: str) -> list[ClassFacts]:
    """The classes, with their bases, of the layers that a class builds with the same count: they may check it."""
    built = [
        event.obj.cls.facts
        for event in analysis.log.events
        if isinstance(event, Built) and event.owner is owner and name in _arguments(event.site.node)
    ]
    found = [entry for cls in built if cls is not None for entry in analysis.project.mro(cls)]
    return [entry for entry in found if isinstance(entry, ClassFacts)]


def _arguments(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.Call):
        return []
    return [ast.unparse(value) for value in (*node.args, *(keyword.value for keyword in node.keywords))]


def _is_written(event: Divided) -> bool:
    """Whether the division stands in the code: `heads // tp`, `heads //= tp`."""
    node = event.site.node
    return isinstance(node, ast.BinOp) or "//=" in event.site.module.lines[node.lineno - 1]


@cache
def _tests_remainder(cls: ClassFacts, key_value: bool) -> bool:
    for node in walk(cls.node):
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mod)
            and not isinstance(node.left, ast.Constant)
        ):
            names = ast.unparse(node)
            if not key_value or is_key_value(names) or "head" not in names:
                return True
        if isinstance(node, ast.Assert) and _multiplies_back(node.test, key_value):
            return True
        if isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] in (
            "divide",
            "ensure_divisibility",
            "divmod",
        ):
            return True
    return False


def _multiplies_back(test: ast.expr, key_value: bool) -> bool:
    """`assert share * tp == heads`"""
    text = ast.unparse(test)
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq) or "head" not in text:
        return False
    products = [side for side in (test.left, *test.comparators) if isinstance(side, ast.BinOp)]
    return any(isinstance(side.op, ast.Mult) for side in products) and (not key_value or is_key_value(text))
