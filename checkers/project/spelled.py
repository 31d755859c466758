"""Lists and numbers that a script spells out, through its names, functions and repetitions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .project import dotted_name
from .scopes import Scope

if TYPE_CHECKING:
    from .training import TrainingScript

_DEEP = 3


def listed(
    script: TrainingScript, node: ast.expr | None, scope: Scope, depth: int = 0
) -> tuple[ast.List | ast.Tuple | None, Scope]:
    """A list of which each item can be seen, and where it is written.

    `[entry for _ in range(3)]` and `[entry] * 3` are three items, and a function of the script is what it returns.
    """
    if isinstance(node, ast.Name) and depth < _DEEP:
        is_changed = any(_changes(other, node.id) for other in scope.nodes)
        return listed(script, None if is_changed else scope.value(node.id), scope, depth + 1)
    times, item = _repeated(script, node, scope)
    if times is not None and node is not None:
        return ast.copy_location(ast.List(item * times, ast.Load()), node), scope
    called = script.function(node.func, scope) if isinstance(node, ast.Call) else None
    if called is not None and depth < _DEEP:
        returned = [part.value for part in called.of(ast.Return)]
        if len(returned) == 1 and called.module is script.module:
            return listed(script, returned[0], called, depth + 1)
    return (None if node is None else spelled_out(node, scope)), scope


def _repeated(
    script: TrainingScript, node: ast.expr | None, scope: Scope
) -> tuple[int | None, list[ast.expr]]:
    """How often a list repeats the same items, and these."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List):
        return count(script, node.right, scope), node.left.elts
    if isinstance(node, ast.ListComp) and len(node.generators) == 1 and not node.generators[0].ifs:
        loop = node.generators[0]
        turns = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
        read = {part.id for part in ast.walk(node.elt) if isinstance(part, ast.Name)}
        if isinstance(loop.iter, ast.Call) and dotted_name(loop.iter.func) == "range":
            if len(loop.iter.args) == 1 and not turns & read:
                return count(script, loop.iter.args[0], scope), [node.elt]
    return None, []


def count(script: TrainingScript, node: ast.expr | None, scope: Scope) -> int | None:
    """A whole number: written down, the length of a list or of the stage map, or one more or less than these."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left, right = count(script, node.left, scope), count(script, node.right, scope)
        if left is None or right is None:
            return None
        return left + right if isinstance(node.op, ast.Add) else left - right
    if isinstance(node, ast.Call) and dotted_name(node.func) == "len" and len(node.args) == 1:
        found = script.stage_map
        holder = node.args[0]
        if found is not None and (
            script.names(holder, found)
            or (isinstance(holder, ast.Name) and scope.value(holder.id) is found.node)
        ):
            return len(found.entries)
        items = spelled_out(holder, scope)
        return len(items.elts) if items is not None else None
    return whole_number(node, scope)


def spelled_out(node: ast.expr, scope: Scope) -> ast.List | ast.Tuple | None:
    """A list or tuple whose items can all be seen, through names of the script."""
    if isinstance(node, ast.Name):
        bound = scope.value(node.id)
        is_changed = any(_changes(other, node.id) for other in scope.nodes)
        return None if bound is None or is_changed else spelled_out(bound, scope)
    is_list = isinstance(node, ast.List | ast.Tuple) and not any(
        isinstance(item, ast.Starred) for item in node.elts
    )
    return node if is_list and isinstance(node, ast.List | ast.Tuple) else None


def _changes(node: ast.AST, name: str) -> bool:
    """Whether a node appends to, or stores into, the list of that name."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return isinstance(node.func.value, ast.Name) and node.func.value.id == name
    is_store = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    return is_store and isinstance(node.value, ast.Name) and node.value.id == name  # type: ignore[attr-defined]


def whole_number(node: ast.expr | None, scope: Scope) -> int | None:
    """A literal whole number, through names of the script."""
    if isinstance(node, ast.Name):
        node = scope.value(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = whole_number(node.operand, scope)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
