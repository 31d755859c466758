"""Objects that a function hands out: the method that a call of `topology().rank("tp")` enters."""

from __future__ import annotations

import ast

from ..facts.module import ClassFacts
from ..project.project import FunctionRef
from .frames import Frame, returns

_DEPTH = 3


def entered_by(node: ast.Call, frame: Frame) -> Frame | None:
    """The function of the tree that a call enters, or the method of the one object that a function hands out."""
    inner = frame.callee(node)
    if inner is not None or not isinstance(node.func, ast.Attribute):
        return inner
    cls = _only_class(node.func.value, frame)
    return _method(node, cls, frame) if cls is not None else None


def _method(call: ast.Call, cls: ClassFacts, frame: Frame) -> Frame | None:
    """The method of an instance of a class that `thing.method(...)` enters, with its arguments bound."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    found = frame.project.method(cls, name)
    if found is None or found[1].decorator_list:
        return None
    return frame._enter(frame.scope_of(found[0].module, found[1]), cls, call, skip=1)


def _only_class(node: ast.expr, frame: Frame, depth: int = 0) -> ClassFacts | None:
    """The class of `t` after `t = topology()`, a function that returns a global which one class alone is put into."""
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Call):
        ref = frame.ref(node.func)
        if isinstance(ref, ClassFacts):
            return ref
        inner = frame.callee(node) if isinstance(ref, FunctionRef) else None
        values = returns(inner) if inner is not None else []
        return _only_class(values[0], inner, depth + 1) if inner is not None and len(values) == 1 else None
    if isinstance(node, ast.Name):
        held = frame.definitions(node)
        known = [
            value for value in held if not (isinstance(value[0], ast.Constant) and value[0].value is None)
        ]
        if len(known) == 1:
            return _only_class(*known[0], depth + 1)
        put = _put_into_global(node.id, frame) if len(held) == 1 and not known else None
        return _only_class(put, frame, depth + 1) if put is not None else None
    return None


def _put_into_global(name: str, frame: Frame) -> ast.expr | None:
    """The one value that functions of a file give a global which begins as None."""
    found: list[ast.expr] = []
    for function in (node for node in frame.module.tree.body if isinstance(node, ast.FunctionDef)):
        if any(isinstance(node, ast.Global) and name in node.names for node in function.body):
            for node in ast.walk(function):
                if isinstance(node, ast.Assign) and [ast.unparse(part) for part in node.targets] == [name]:
                    found += [node.value]
    return found[0] if len(found) == 1 else None
