"""What the pipeline schedules return: the losses of the last stage, and nothing on the others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..facts.nodes import walk
from .axes import last_name
from .conditions import atoms_of, condition
from .frames import Frame, module_functions, returns
from .names import PP

_SCHEDULE = re.compile(r"get_forward_backward_func|forward_backward_(func|no_pipelining|pipelining_\w+)")
_MAX_DEPTH = 3


def emptied(frame: Frame) -> Iterator[tuple[ast.expr, str]]:
    """Expressions that fail on an empty list of losses, on a stage that is not the last, with the list's name."""
    function = frame.scope.function
    if function is not None:
        yield from _block(function.body, frame)


def _block(body: list[ast.stmt], frame: Frame) -> Iterator[tuple[ast.expr, str]]:
    for statement in body:
        if isinstance(statement, ast.If):
            if any(atom.axes & PP for atom in atoms_of(condition(statement.test, frame))):
                if isinstance(statement.body[-1], ast.Return | ast.Raise | ast.Continue):
                    return
                continue
            if isinstance(statement.body[-1], ast.Return | ast.Raise | ast.Continue):
                continue
            named = {part.id for part in walk(statement.test) if isinstance(part, ast.Name)}
            if not any(_is_report(ast.Name(name, ast.Load()), frame, 0) for name in named):
                yield from _block(statement.body, frame)
                yield from _block(statement.orelse, frame)
        elif isinstance(statement, ast.For | ast.While | ast.With):
            yield from _block(statement.body, frame)
        elif (
            isinstance(statement, ast.Assign | ast.Expr | ast.Return | ast.AugAssign)
            and statement.value is not None
        ):
            yield from _in(statement.value, frame)


def _in(root: ast.expr, frame: Frame) -> Iterator[tuple[ast.expr, str]]:
    parts = [part for part in walk(root) if isinstance(part, ast.expr)]
    if any(isinstance(part, ast.IfExp | ast.BoolOp | ast.Lambda) for part in parts):
        return
    for part in parts:
        held: ast.expr | None = None
        if isinstance(part, ast.Call) and last_name(part.func) in ("stack", "cat") and len(part.args) > 0:
            given = part.args[0]
            is_made = isinstance(given, ast.ListComp | ast.GeneratorExp) and len(given.generators) == 1
            held = (
                given.generators[0].iter
                if is_made and isinstance(given, ast.ListComp | ast.GeneratorExp)
                else given
            )
        elif (
            isinstance(part, ast.Subscript)
            and isinstance(part.slice, ast.Constant)
            and part.slice.value in (0, -1)
        ):
            held = part.value
        if isinstance(held, ast.Name) and _is_report(held, frame, 0):
            yield part, held.id


def _is_report(node: ast.expr, frame: Frame, depth: int) -> bool:
    """Whether a value is what a schedule returned: called here, in a method that returns it, or by each caller."""
    if depth > _MAX_DEPTH:
        return False
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Call) and _SCHEDULE.fullmatch(last_name(node.func.func)):
            return True
        if isinstance(node.func, ast.Name):
            made = frame.definitions(node.func)
            call = made[0][0] if len(made) == 1 else None
            if isinstance(call, ast.Call) and _SCHEDULE.fullmatch(last_name(call.func)):
                return True
        inner = frame.callee(node)
        values = returns(inner) if inner is not None else []
        return inner is not None and len(values) == 1 and _is_report(values[0], inner, depth + 1)
    if not isinstance(node, ast.Name):
        return False
    if node.id in frame.scope.parameters and node.id not in frame.scope.bound:
        found = list(_given(node.id, frame))
        return bool(found) and all(_is_report(value, where, depth + 1) for value, where in found)
    defined = frame.definitions(node)
    return len(defined) == 1 and _is_report(*defined[0], depth + 1)


def _given(name: str, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    """What the callers in the file give for a parameter."""
    function = frame.scope.function
    for caller in module_functions(frame.project, frame.module) if function is not None else ():
        for call in caller.scope.calls:
            if function is not None and last_name(call.func) == function.name:
                inner = caller.callee(call)
                if inner is not None and name in inner.given:
                    yield inner.given[name]
