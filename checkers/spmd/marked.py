"""Gradients of parameters that are marked `sequence_parallel`: each rank of the tensor-parallel group has a summand."""

from __future__ import annotations

import ast
import re

from ..facts.nodes import as_code, walk
from .frames import Frame

_MARKED = re.compile(r"['\"]sequence_parallel['\"]")


def is_marked(node: ast.expr, frame: Frame) -> bool:
    """Whether a name holds a list of such gradients, made in one expression or appended to under a test of the mark."""
    for value, _ in frame.definitions(node):
        if (
            isinstance(value, ast.ListComp)
            and ".grad" in as_code(value.elt)
            and _MARKED.search(as_code(value))
        ):
            return True
        if isinstance(value, ast.List) and not value.elts and _appended(as_code(node), frame):
            return True
    return False


def one_marked(node: ast.expr, frame: Frame) -> bool:
    """Whether an expression is one such gradient: an item of the list, or `p.grad` under a test of the mark."""
    for loop in frame.scope.of(ast.For):
        if as_code(loop.target) == as_code(node) and is_marked(loop.iter, frame):
            return True
    if not re.fullmatch(r"\w+\.grad(\.data)?", as_code(node)):
        return False
    return any(
        any(part is node for part in walk(statement)) for test in _tests(frame) for statement in test.body
    )


def _tests(frame: Frame) -> list[ast.If]:
    """The tests that let marked parameters through, and no others."""
    return [
        test
        for test in frame.scope.of(ast.If)
        if _MARKED.search(as_code(test.test)) and not re.search(r"\bnot\b|\bor\b", as_code(test.test))
    ]


def _appended(name: str, frame: Frame) -> bool:
    """Whether gradients are appended to a list, each time under a test of the mark."""
    calls = [call for call in frame.scope.calls if as_code(call.func) in (f"{name}.append", f"{name}.extend")]
    tested = {id(part) for test in _tests(frame) for statement in test.body for part in walk(statement)}
    return bool(calls) and all(id(call) in tested and ".grad" in as_code(call) for call in calls)
