"""Whether anything runs a function of the tree: by its name, wherever it stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..facts.module import ModuleFacts
from ..facts.nodes import walk
from ..project.project import Project
from .frames import Frame, module_functions

_MAX_DEPTH = 3
_TRAINS = re.compile(r"\.(step|backward)\(")


class Uses:
    """Where the names of functions are used, worked out for those that are asked about."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._found: dict[str, list[tuple[Frame | None, ast.expr]]] = {}

    def never_runs(self, frame: Frame, depth: int = 0) -> bool:
        """Whether no function that runs names it, or each that calls it tells it to do nothing."""
        function = frame.scope.function
        if function is None or frame.cls is not None or depth > _MAX_DEPTH or function.decorator_list:
            return False
        if depth and _TRAINS.search(frame.module.text_of(function)):
            return False  # others may run it
        places = self._of(function.name)
        live = [
            (where, node)
            for where, node in places
            if where is None or not (where.scope.function is function or self.never_runs(where, depth + 1))
        ]
        if not live:
            return True
        flag = _guard(function)
        return flag is not None and all(self._is_off(where, node, function, flag) for where, node in live)

    def _is_off(
        self, where: Frame | None, node: ast.expr, function: ast.FunctionDef, flag: str, depth: int = 0
    ) -> bool:
        """Whether the call that names the function gives False for its parameter, itself or by one of its own."""
        calls = where.scope.calls if where is not None else []
        call = next((part for part in calls if part.func is node), None)
        value = _given(call, function, flag) if call is not None else None
        if isinstance(value, ast.Constant):
            return value.value is False
        outer = where.scope.function if where is not None else None
        if not isinstance(value, ast.Name) or outer is None or where is None or depth >= _MAX_DEPTH:
            return False
        if value.id not in where.scope.parameters or value.id in where.scope.bound:
            return False
        callers = self._of(outer.name)
        return bool(callers) and all(
            self._is_off(caller, place, outer, value.id, depth + 1) for caller, place in callers
        )

    def _of(self, name: str) -> list[tuple[Frame | None, ast.expr]]:
        """Every place that reads a name, with the function around it."""
        if name not in self._found:
            self._found[name] = [
                (_around(self.project, module, node), node)
                for module in self.project.modules
                if name in module.words
                for node in _reads(module, name)
            ]
        return self._found[name]


def _reads(module: ModuleFacts, name: str) -> Iterator[ast.expr]:
    for node in walk(module.tree):
        if isinstance(node, ast.Name):
            found = node.id == name and isinstance(node.ctx, ast.Load)
        else:
            found = name in (getattr(node, "attr", None), getattr(node, "value", None))
        if found and isinstance(node, ast.expr):
            yield node


def _around(project: Project, module: ModuleFacts, node: ast.expr) -> Frame | None:
    """The function at module level or the method that holds a node."""
    holding = [
        frame
        for frame in module_functions(project, module)
        if (function := frame.scope.function) is not None
        and function.lineno <= node.lineno <= (function.end_lineno or function.lineno)
    ]
    return min(holding, key=lambda frame: len(frame.scope.nodes), default=None)


def _guard(function: ast.FunctionDef) -> str | None:
    """The parameter without which a function returns at once: `if not enabled: return`."""
    body = [
        part
        for part in function.body
        if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
    ]
    first = body[0] if body else None
    if not isinstance(first, ast.If) or not isinstance(first.body[-1], ast.Return):
        return None
    tests = (
        first.test.values
        if isinstance(first.test, ast.BoolOp) and isinstance(first.test.op, ast.Or)
        else [first.test]
    )
    for test in tests:
        if (
            isinstance(test, ast.UnaryOp)
            and isinstance(test.op, ast.Not)
            and isinstance(test.operand, ast.Name)
        ):
            if test.operand.id in {arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)}:
                return test.operand.id
    return None


def _given(call: ast.Call, function: ast.FunctionDef, name: str) -> ast.expr | None:
    """What a call gives for a parameter."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    names = [arg.arg for arg in function.args.args]
    at = names.index(name) if name in names else -1
    return call.args[at] if 0 <= at < len(call.args) else None
