"""How many axes a tensor has, where the code around a call says so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts.module import ClassFacts
from .parts import Parts

_MOST = 3  # a parallel layer's backward makes two axes of three, and takes no more
_GIVEN = ("permute", "view", "reshape")
_SPACES = ("self", "torch", "nn", "F", "functional")


def many_axes(parts: Parts, cls: ClassFacts, method: ast.FunctionDef, call: ast.Call) -> bool:
    """Whether a call in a method of a class gives a layer more axes than a parallel one takes, as far as is known.

    An argument of the forward has those that it is given where the class is used. What joins axes is right with fewer,
    too, so functions are taken to keep them.
    """
    count = _count(call.args[0], method, call.lineno) if call.args else None
    if isinstance(count, str):
        names = [arg.arg for arg in method.args.args[1:]]
        if method.name != "forward" or count not in names:
            return False
        return any(found > _MOST for found in _given(parts, cls, names.index(count)))
    return count is not None and count > _MOST


def _given(parts: Parts, cls: ClassFacts, position: int) -> Iterator[int]:
    """The axes of an argument of the forward, from each place that uses the class and says them."""
    for user in parts.users(cls):
        nodes = [(method, node) for method in user.methods.values() for node in ast.walk(method)]
        built = {
            target.attr
            for _, node in nodes
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            for target in node.targets
            if isinstance(target, ast.Attribute) and parts.built(user.module, node.value) is cls
        }
        for method, node in nodes:
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in built
            ):
                count = (
                    _count(node.args[position], method, node.lineno) if position < len(node.args) else None
                )
                if isinstance(count, int):
                    yield count


def _count(value: ast.expr, method: ast.FunctionDef, line: int) -> int | str | None:
    """The axes of a value at a line; the name itself where nothing in front of the line says more of it."""
    if isinstance(value, ast.BinOp):
        return _count(value.left, method, line)
    if isinstance(value, ast.Call):
        func = value.func
        if isinstance(func, ast.Attribute) and func.attr in _GIVEN:
            is_list = len(value.args) == 1 or any(isinstance(arg, ast.Starred) for arg in value.args)
            return None if is_list else len(value.args)
        if isinstance(func, ast.Attribute) and _first_name(func.value) not in _SPACES:
            return _count(func.value, method, line)
        return _count(value.args[0], method, line) if value.args else None
    if not isinstance(value, ast.Name):
        return None
    before = [n for n in ast.walk(method) if isinstance(n, ast.Assign) and n.lineno < line]
    for node in sorted(before, key=lambda node: node.lineno, reverse=True):
        names = {
            part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)
        }
        if value.id in names:
            return _count(node.value, method, node.lineno)
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and _is_shape(node.value, value.id):
            return None if any(isinstance(part, ast.Starred) for part in target.elts) else len(target.elts)
    return value.id


def _first_name(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_shape(value: ast.expr, name: str) -> bool:
    """`x.shape` or `x.size()` of a name."""
    if isinstance(value, ast.Call):
        value = value.func
    if not (isinstance(value, ast.Attribute) and value.attr in ("shape", "size")):
        return False
    return isinstance(value.value, ast.Name) and value.value.id == name
