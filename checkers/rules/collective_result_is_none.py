"""E7705"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import children
from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.collectives import collective, is_async, written
from ..spmd.frames import Frame, functions
from ..spmd.names import TORCH_COLLECTIVES
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_CALLED = re.compile(rf"\b({'|'.join(TORCH_COLLECTIVES)})\(")
_VALUE = re.compile(rf"(return|=|\()\s*[\w.]*\b({'|'.join(TORCH_COLLECTIVES)})\(")


class CollectiveResultIsNone(Rule):
    """The result of a collective that works in place, which is None, is used as if it were the tensor."""

    code, symbol = "E7705", "collective-result-is-none"
    message = "`%(call)s` works in place and returns None, but its result is %(use)s"
    advice = "Call `%(call)s(%(argument)s, …)` on a line of its own and go on with `%(argument)s`."
    why = "torch.distributed writes into its tensors; only with `async_op=True` does a collective return a handle."
    symptom = Symptom.CRASH
    runtime = "TypeError or AttributeError on None, often only where more than one rank runs."
    limits = "Only for torch.distributed; silent with `async_op`, and where a function returns nothing else."
    guide = "beyond the guide"

    bad = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def total(y, size):
        group = parallel_state.get_tensor_model_parallel_group()
        if size > 1:
            return dist.all_reduce(y, group=group)  # [collective-result-is-none]
        return y
    """
    good = """
    import torch.distributed as dist
    from megatron.core import parallel_state


    def total(y, size):
        if size > 1:
            dist.all_reduce(y, group=parallel_state.get_tensor_model_parallel_group())
        return y
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _CALLED, _VALUE):
            for parent in frame.scope.nodes:
                for node in children(parent):
                    if isinstance(node, ast.Call) and (use := _use(parent, node, frame)):
                        yield self.finding(
                            place_of(frame.module, node),
                            object=frame.function_name,
                            call=written(node),
                            use=use,
                            argument=ast.unparse(node.args[0]) if node.args else tr("the tensor"),
                        )


def _use(parent: ast.AST, node: ast.Call, frame: Frame) -> str:
    """How the result is used; empty where it is not, or the call is no such collective."""
    if isinstance(parent, ast.Expr | ast.Lambda | ast.withitem | ast.BoolOp | ast.Await):
        return ""
    found = collective(node, frame)
    if found is None or not found.is_torch or found.name in ("new_group", "new_subgroups") or is_async(node):
        return ""
    if isinstance(parent, ast.Return):
        tensor = ast.unparse(node.args[0]) if node.args else ""
        others = (part.value for part in frame.scope.of(ast.Return) if part.value)
        is_value = any(ast.unparse(value) == tensor for value in others)
        return (
            tr("returned, where elsewhere the function returns `%(tensor)s`", tensor=tensor)
            if is_value
            else ""
        )
    if isinstance(parent, ast.Assign):
        target = parent.targets[0]
        return (
            _later(target.id, parent, frame)
            if len(parent.targets) == 1 and isinstance(target, ast.Name)
            else ""
        )
    if isinstance(parent, ast.BinOp | ast.Subscript | ast.Attribute):
        return tr("used in `%(parent)s`", parent=ast.unparse(parent)[:60])
    return ""


def _later(name: str, assigned: ast.Assign, frame: Frame) -> str:
    """Whether a variable that holds the result, and nothing else, is read as a value."""
    if len(frame.scope.bound.get(name, [])) != 1 and name not in frame.scope.parameters:
        first = _argument(assigned)
        if name != first:
            return ""
    seen = False
    for node in frame.scope.nodes:
        if node is assigned:
            seen = True
        if not seen or not isinstance(node, ast.BinOp | ast.Return | ast.Attribute | ast.Subscript):
            continue
        if isinstance(node, ast.Attribute) and node.attr in ("wait", "is_completed"):
            return ""
        reads = [part for part in children(node) if isinstance(part, ast.Name) and part.id == name]
        if reads and isinstance(reads[0].ctx, ast.Load):
            return tr("used in `%(node)s`", node=ast.unparse(node)[:60])
    return ""


def _argument(node: ast.Assign) -> str:
    call = node.value
    return ast.unparse(call.args[0]) if isinstance(call, ast.Call) and call.args else ""
