"""Which attributes of `self` a constructor sets, and on which paths."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

Follow = Callable[[str], ast.FunctionDef | None]
"""The method that `self.name()` (or, for `super().__init__`, the name "super") runs, None where it is not seen."""


def always_set(function: ast.FunctionDef, follow: Follow, depth: int = 0) -> set[str]:
    """Attributes that are set whenever the function returns; raising paths do not count."""
    ends: list[set[str]] = []
    last = _block(function.body, set(), ends, follow, depth)
    if last is not None:
        ends.append(last)
    return set.intersection(*ends) if ends else set()


def _block(
    body: list[ast.stmt], done: set[str], ends: list[set[str]], follow: Follow, depth: int
) -> set[str] | None:
    """What is set after some statements; None when control does not get there. Returns go to `ends`."""
    current: set[str] | None = set(done)
    for node in body:
        if current is None:
            return None
        if isinstance(node, ast.Raise):
            return None
        if isinstance(node, ast.Return):
            ends.append(current)
            return None
        if isinstance(node, ast.If):
            sides = [_block(part, current, ends, follow, depth) for part in (node.body, node.orelse)]
            left = [side for side in sides if side is not None]
            current = set.intersection(*left) if left else None
        elif isinstance(node, ast.With):
            current = _block(node.body, current, ends, follow, depth)
        elif isinstance(node, ast.Try):
            current = _block([*node.body, *node.orelse, *node.finalbody], current, ends, follow, depth)
        elif isinstance(node, ast.For | ast.While):
            _block(node.body, current, ends, follow, depth)
        else:
            current |= set(_written(node)) | _called(node, follow, depth)
    return current


def _written(node: ast.stmt) -> Iterator[str]:
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign) and node.value
        else []
    )
    while targets:
        target = targets[0]
        targets = [*targets[1:], *(target.elts if isinstance(target, ast.Tuple | ast.List) else [])]
        if (
            isinstance(target, ast.Attribute)
            and isinstance(target.value, ast.Name)
            and target.value.id == "self"
        ):
            yield target.attr


def _called(node: ast.stmt, follow: Follow, depth: int) -> set[str]:
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or depth > 4:
        return set()
    func = call.func
    if (
        isinstance(func, ast.Name)
        and func.id == "setattr"
        and len(call.args) == 3
        and isinstance(call.args[1], ast.Constant)
    ):
        return {str(call.args[1].value)}
    if not isinstance(func, ast.Attribute):
        return set()
    if isinstance(func.value, ast.Name) and func.value.id == "self":
        if (
            func.attr in ("register_buffer", "register_parameter", "add_module")
            and call.args
            and isinstance(call.args[0], ast.Constant)
        ):
            return {str(call.args[0].value)}
        method = follow(func.attr)
    elif (
        isinstance(func.value, ast.Call)
        and isinstance(func.value.func, ast.Name)
        and func.value.func.id == "super"
    ):
        method = follow("super")
    else:
        return set()
    return always_set(method, follow, depth + 1) if method is not None else set()
