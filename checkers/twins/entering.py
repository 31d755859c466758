"""Own methods and local functions, entered where they are called."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from ..facts.module import ClassFacts
from ..project.project import FunctionRef
from .binding import bind, defaults
from .frames import Frame
from .names import is_config
from .nodes import Node

Trace = Callable[[ast.expr, Frame], Node]
_MAX_DEPTH = 6
_MAX_CALLS = 500


@dataclass(frozen=True, eq=False)
class Local:
    """A function written inside a method, or a lambda, with the names around it."""

    function: ast.FunctionDef | ast.Lambda
    frame: Frame


def own_method(frame: Frame, name: str) -> tuple[ClassFacts, ast.FunctionDef] | None:
    return frame.side.project.method(frame.side.cls, name)


def is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def enter_super(name: str, node: ast.Call, frame: Frame, trace: Trace) -> Node:
    """The next definition after the class that holds this method."""
    order = frame.side.project.mro(frame.side.cls)
    after = order[order.index(frame.owner) + 1 :] if frame.owner in order else ()
    for entry in after:
        if isinstance(entry, ClassFacts) and name in entry.methods:
            return enter(entry, entry.methods[name], node, frame, trace)
    return frame.constant(None, node)


def enter(owner: ClassFacts, function: ast.FunctionDef, node: ast.Call, frame: Frame, trace: Trace) -> Node:
    values = [trace(arg, frame) for arg in node.args if not isinstance(arg, ast.Starred)]
    labels = [""] * len(values)
    for keyword in node.keywords:
        if keyword.arg is not None:
            labels.append(keyword.arg)
            values.append(trace(keyword.value, frame))
    return run_method(owner, function, bind(function, labels, skip_self=True), values, node, frame, trace)


def run_method(
    owner: ClassFacts,
    function: ast.FunctionDef,
    names: list[str],
    values: list[Node],
    node: ast.AST,
    frame: Frame,
    trace: Trace,
) -> Node:
    """What a method of the class returns; what it stores is stored."""
    frame.side.entered += 1
    if frame.depth >= _MAX_DEPTH or frame.side.entered > _MAX_CALLS:
        return frame.node("opaque", values, node, value=function.name)
    every = [*function.args.posonlyargs, *function.args.args]
    static = any(isinstance(mark, ast.Name) and mark.id == "staticmethod" for mark in function.decorator_list)
    inner = Frame(
        frame.side, owner.module, {key: value for key, value in frame.env.items() if key.startswith("self.")},
        frame.depth + 1, frame.loops, every[0].arg if every and not static else "", owner, frame.in_constructor,
    )  # fmt: skip
    given = dict(zip(names, values, strict=True))
    for name, default in defaults(function, skip_self=not static).items():
        if name in given:
            inner.env[name] = given[name]
        elif is_config(name):
            inner.env[name] = inner.node("config", (), function)
        elif default is not None:
            inner.env[name] = trace(default, inner)
    result = frame.side.run(function.body, inner)
    frame.env.update({key: value for key, value in inner.env.items() if key.startswith("self.")})
    return result if result is not None else frame.constant(None, node)


def run_local(
    callee: Node, args: list[Node], names: list[str], node: ast.Call, frame: Frame, trace: Trace
) -> Node:
    """A function written inside the method, or a lambda."""
    local = callee.ref
    assert isinstance(local, Local)
    function, inner = local.function, local.frame.copy()
    inner.env.update(frame.env)
    inner.depth = frame.depth + 1
    if inner.depth > _MAX_DEPTH:
        return frame.node("opaque", args, node, value=ast.unparse(node.func))
    inner.env.update(zip(bind(function, names, skip_self=False), args, strict=True))
    if isinstance(function, ast.Lambda):
        return trace(function.body, inner)
    result = frame.side.run(function.body, inner)
    return result if result is not None else frame.constant(None, node)


def passed_on(
    ref: FunctionRef, args: list[Node], names: list[str], frame: Frame, trace: Trace
) -> Node | None:
    """The argument that a function of the tree returns as it is on one rank, behind checks: `heads // tp_size`."""
    *before, last = ref.node.body
    if not isinstance(last, ast.Return) or last.value is None or frame.depth >= _MAX_DEPTH:
        return None
    if not all(isinstance(statement, ast.Expr) or _only_raises(statement) for statement in before):
        return None
    inner = Frame(frame.side, ref.module, {}, frame.depth + 1, frame.loops, "")
    inner.env.update(zip(bind(ref.node, names, skip_self=False), args, strict=True))
    result = trace(last.value, inner)
    return next((arg for arg in args if arg.key == result.key), None)


def _only_raises(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.If):
        return isinstance(statement, ast.Assert)
    return not statement.orelse and all(isinstance(part, ast.Raise) for part in statement.body)
