"""What runs on one pipeline stage: the statements and returns that its answers do not rule out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .conditions import Atom, condition, decide
from .frames import Frame
from .names import PP

IS_FIRST, IS_LAST = Atom("pp", "0", PP), Atom("pp", "last", PP)
Answers = dict[Atom, bool]
FIRST: Answers = {IS_FIRST: True, IS_LAST: False}
MIDDLE: Answers = {IS_FIRST: False, IS_LAST: False}
LAST: Answers = {IS_FIRST: False, IS_LAST: True}


def returned(frame: Frame, known: Answers) -> list[ast.expr]:
    """What a function may return on a stage."""
    function = frame.scope.function
    if function is None:
        return []
    found = _reached(function.body, frame, known)
    return [node.value for node in found if isinstance(node, ast.Return) and node.value is not None]


def reached(frame: Frame, known: Answers) -> list[ast.stmt]:
    """The simple statements that may run on a stage, and the tests of the compound ones."""
    function = frame.scope.function
    return list(_reached(function.body, frame, known)) if function is not None else []


def _reached(body: list[ast.stmt], frame: Frame, known: Answers) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.If):
            answer = decide(condition(statement.test, frame), known)
            if answer is not False:
                yield from _reached(statement.body, frame, known)
            if answer is not True:
                yield from _reached(statement.orelse, frame, known)
            chosen = statement.body if answer else statement.orelse
            if answer is not None and chosen and isinstance(chosen[-1], ast.Return | ast.Raise):
                return
            continue
        yield statement
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list) and not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                yield from _reached(inner, frame, known)
        if isinstance(statement, ast.Return | ast.Raise):
            return
