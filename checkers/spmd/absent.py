"""Variables that stay None on some ranks, and what is done with them on all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.nodes import is_none, walk
from .conditions import Atom, atoms_of, condition
from .frames import Frame
from .reach import read_tests

_NEEDS_VALUE = frozenset("len iter next enumerate list tuple".split())


@dataclass(frozen=True, eq=False)
class Absent:
    """`name` is None unless `test`, which asks for the own rank, holds."""

    frame: Frame
    name: str
    test: ast.expr
    line: int
    plain: bool = False
    """Whether only what stands under no test at all is sure to use it."""


def absent_in(frame: Frame) -> Iterator[Absent]:
    """Variables that are set to None and then, under a test on the own rank alone, to something."""
    yield from _in_one(frame)
    held = [
        (name, values)
        for name, values in frame.scope.bound.items()
        if "." not in name
        and [isinstance(value, ast.Constant) and value.value is None for value in values] == [True, False]
        and name not in frame.scope.parameters
    ]
    if not held:
        return
    tests = [node for node in read_tests(frame) if isinstance(node, ast.If) and not node.orelse]
    for name, values in held:
        for test in tests:
            inside = any(values[1] is part for statement in test.body for part in walk(statement))
            if inside and values[0].lineno < test.lineno:
                yield Absent(frame, name, test.test, test.end_lineno or test.lineno)


def _in_one(frame: Frame) -> Iterator[Absent]:
    """`batch = next(data) if rank == 0 else None`, or the same in two branches."""
    for name, values in frame.scope.bound.items():
        if "." in name or name in frame.scope.parameters:
            continue
        only = values[0]
        if isinstance(only, ast.IfExp) and is_none(only.orelse) and _of_own_rank(only.test, frame):
            absent = Absent(frame, name, only.test, only.end_lineno or only.lineno, plain=True)
            used = next(uses(frame, name, absent.line, plain=True), None)
            if used is not None and all(used.lineno <= getattr(later, "lineno", 0) for later in values[1:]):
                yield absent
        if [is_none(value) for value in values] != [False, True]:
            continue
        for test in read_tests(frame):
            sides = (test.body, test.orelse) if isinstance(test, ast.If) else ()
            if sides and all(
                any(value is part for statement in side for part in walk(statement))
                for value, side in zip(values, sides, strict=True)
            ):
                yield Absent(frame, name, test.test, test.end_lineno or test.lineno, plain=True)


def _of_own_rank(test: ast.expr, frame: Frame) -> bool:
    return isinstance(condition(test, frame), Atom)


def uses(frame: Frame, text: str, after: int, plain: bool = False) -> Iterator[ast.expr]:
    """Expressions that need the value, under no test that may tell whether it is there."""
    function = frame.scope.function
    if function is not None:
        yield from _block(function.body, frame, text, after, plain)


def _block(body: list[ast.stmt], frame: Frame, text: str, after: int, plain: bool) -> Iterator[ast.expr]:
    for statement in body:
        if isinstance(statement, ast.If):
            if _tells(statement.test, frame, text):
                if isinstance(statement.body[-1], ast.Return | ast.Raise | ast.Continue):
                    return
                continue
            for side in (statement.body, statement.orelse) if not plain else ():
                yield from _block(side, frame, text, after, plain)
        elif isinstance(statement, ast.Try | ast.FunctionDef | ast.ClassDef):
            continue
        elif isinstance(statement, ast.For | ast.While | ast.With):
            heads = [statement.iter] if isinstance(statement, ast.For) else []
            for head in heads:
                if ast.unparse(head) == text and statement.lineno > after:
                    yield head
                yield from _needing(head, frame, text, after)
            yield from _block(statement.body, frame, text, after, plain)
        elif isinstance(statement, ast.Assert):
            if text in ast.unparse(statement.test):
                return
        else:
            yield from _needing(statement, frame, text, after)


def _tells(test: ast.expr, frame: Frame, text: str) -> bool:
    return text.split("[")[0] in ast.unparse(test) or bool(atoms_of(condition(test, frame)))


def _needing(root: ast.AST, frame: Frame, text: str, after: int) -> Iterator[ast.expr]:
    tested = any(isinstance(node, ast.IfExp | ast.BoolOp | ast.Lambda) for node in walk(root))
    for node in walk(root) if not tested else ():
        if not isinstance(node, ast.expr) or node.lineno <= after:
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _NEEDS_VALUE:
            if node.args and ast.unparse(node.args[0]) == text:
                yield node
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load):
            if ast.unparse(node.value) == text:
                yield node
