"""Classes traced whole: what the constructor stores, and what `forward` returns."""

from __future__ import annotations

import ast

from ..facts.module import ClassFacts
from ..project.project import Project
from .binding import defaults
from .expressions import trace
from .frames import Frame, Side
from .names import is_config
from .nodes import Keys, Node
from .statements import DEAD, run


def constructor(project: Project, cls: ClassFacts) -> dict[str, ast.expr | None]:
    """The parameters of a class with their defaults."""
    found = project.method(cls, "__init__")
    return defaults(found[1]) if found is not None else {}


def traced(project: Project, keys: Keys, cls: ClassFacts, other: ClassFacts) -> Side:
    """A class with its constructor traced. Parameters that the other one lacks have their defaults."""
    side = Side(project, keys, cls, run=run)
    found = project.method(cls, "__init__")
    if found is None:
        return side
    owner, function = found
    given, theirs = defaults(function), constructor(project, other)
    side.extra = {name: value for name, value in given.items() if name not in theirs}
    frame = Frame(side, owner.module, {}, self_name=_first(function), owner=owner, in_constructor=True)
    places = _places(function)
    for name, default in given.items():
        at = places[name]
        if is_config(name):
            frame.env[name] = frame.node("config", (), at)
        elif name in side.extra and isinstance(default, ast.Constant):
            frame.env[name] = trace(default, frame)
        else:
            frame.env[name] = frame.node("param", (), at, value=name)
    run(function.body, frame)
    side.attrs = {name[5:]: node for name, node in frame.env.items() if name.startswith("self.")}
    side.tuples = {name for name, node in side.attrs.items() if node.op == "new" and node.ref == "parallel"}
    return side


def forward(side: Side, *, is_later_stage: bool = False) -> Node | None:
    """What `forward` returns; None where there is none, or it cannot be followed."""
    found = side.project.method(side.cls, "forward")
    if found is None:
        return None
    owner, function = found
    frame = Frame(side, owner.module, {}, self_name=_first(function), owner=owner)
    places = _places(function)
    for index, name in enumerate(defaults(function)):
        value = ("unused", index) if is_later_stage else index
        frame.env[name] = frame.node("input", (), places[name], value=value)
    result = run(function.body, frame)
    return None if result is None or result.op == DEAD else result


def _places(function: ast.FunctionDef) -> dict[str, ast.arg]:
    args = function.args
    return {arg.arg: arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)}


def _first(function: ast.FunctionDef) -> str:
    args = [*function.args.posonlyargs, *function.args.args]
    return args[0].arg if args else "self"
