"""E7246"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import dotted_name
from ..project.stages import Stages
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_RECEIVED = "self.input_tensor"
_NOT_IN_PLACE = frozenset({"requires_grad_", "detach_", "retain_grad_"})


class ReceivedTensorChangedInPlace(Rule):
    """A stage changes the tensor it received in place."""

    code, symbol = "E7246", "received-tensor-changed-in-place"
    message = "`%(name)s` is what the stage before sent, and `%(how)s` changes it in place"
    advice = "Write a new value instead: `%(typed)s`."
    why = (
        "The receive buffer is a leaf that requires a gradient: autograd forbids to write into it, and its gradient is "
        "what the stage before waits for."
    )
    symptom = Symptom.CRASH
    runtime = "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation"
    limits = "Only in the stage's own forward, while the name still holds what was received."
    guide = "beyond the guide"

    bad = """
    from torch import nn


    class Net_stage1(nn.Module):
        def __init__(self, fuser):
            super().__init__()
            self.fuser = fuser

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            x += skip  # [received-tensor-changed-in-place]
            return self.fuser(x), skip
    """
    good = """
    from torch import nn


    class Net_stage1(nn.Module):
        def __init__(self, fuser):
            super().__init__()
            self.fuser = fuser

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            x, skip = self.input_tensor
            x = x + skip
            return self.fuser(x), skip
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for stage in analysis.project.knowledge(Stages):
            forward = stage.cls.methods.get("forward")
            if forward is not None and not stage.is_first:
                yield from self._changes(stage.cls, forward)

    def _changes(self, cls: ClassFacts, forward: ast.FunctionDef) -> Iterator[Finding]:
        received = {_RECEIVED: forward.lineno}
        for statement in sorted(_statements(forward), key=lambda node: node.lineno):
            changed = _changed(statement)
            if changed is not None and changed[0] in received:
                name, how, typed = changed
                yield self.finding(
                    place_of(cls.module, statement),
                    object=cls.name,
                    evidence=(
                        Evidence(
                            cls.module.display, received[name], tr("`%(name)s` is received here", name=name)
                        ),
                    ),
                    name=name,
                    how=how,
                    typed=typed,
                )
                return
            if isinstance(statement, ast.Assign):
                from_outside = _is_received(statement.value, received)
                for name in _targets(statement):
                    if from_outside:
                        received[name] = statement.lineno
                    elif name != _RECEIVED:
                        received.pop(name, None)


def _statements(forward: ast.FunctionDef) -> list[ast.stmt]:
    return [node for node in walk(forward) if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr)]


def _targets(statement: ast.Assign) -> Iterator[str]:
    for target in statement.targets:
        for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            name = dotted_name(part)
            if name is not None:
                yield name


def _is_received(value: ast.expr, received: dict[str, int]) -> bool:
    """`self.input_tensor`, one of its items, or a tuple of it."""
    if isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Slice | ast.Tuple):
        value = value.value
        return dotted_name(value) == _RECEIVED
    if isinstance(value, ast.Call) and dotted_name(value.func) in ("tuple", "list") and len(value.args) == 1:
        value = value.args[0]
    return dotted_name(value) in received


def _changed(statement: ast.stmt) -> tuple[str, str, str] | None:
    """The name a statement changes in place, how, and what to type."""
    if isinstance(statement, ast.AugAssign):
        name = dotted_name(statement.target)
        if name is None:
            return None
        value = ast.unparse(ast.BinOp(statement.target, statement.op, statement.value))
        return name, ast.unparse(statement), f"{name} = {value}"
    call = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        method, name = call.func.attr, dotted_name(call.func.value)
        if (
            name is not None
            and method.endswith("_")
            and not method.endswith("__")
            and method not in _NOT_IN_PLACE
        ):
            arguments = ast.unparse(call).split("(", 1)[1]
            return name, ast.unparse(call), f"{name} = {name}.{method[:-1]}({arguments}"
    return None
