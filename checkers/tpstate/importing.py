"""Imports inside of functions: the names they bind."""

from __future__ import annotations

import ast

from ..facts.module import Import
from ..project.project import Ref
from . import lookups
from .frames import Frame
from .interpreter import Interpreter
from .values import UNKNOWN, Known, Value


def bind(interp: Interpreter, frame: Frame, node: ast.Import | ast.ImportFrom) -> None:
    """Bind what an import statement names."""
    if isinstance(node, ast.Import):
        _modules(interp, frame, node)
    else:
        _members(interp, frame, node)


def _modules(interp: Interpreter, frame: Frame, node: ast.Import) -> None:
    for alias in node.names:
        dotted = alias.name if alias.asname else alias.name.split(".")[0]
        found = interp.project.find_module(dotted, frame.module)
        value: Value = lookups.of_ref(interp, found, dotted) if found is not None else Known(dotted)
        interp.write(frame.vars, alias.asname or dotted, value)


def _members(interp: Interpreter, frame: Frame, node: ast.ImportFrom) -> None:
    module = frame.module.absolute("." * node.level + (node.module or ""))
    for alias in node.names:
        if alias.name == "*":
            continue
        ref: Ref | None = interp.project.imported(frame.module, Import(module, alias.name, node.lineno))
        value = lookups.of_ref(interp, ref, alias.name) if ref is not None else UNKNOWN
        interp.write(frame.vars, alias.asname or alias.name, value)
