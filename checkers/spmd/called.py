"""What a function does, helpers of the tree included: each call with the tests on the way to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.nodes import children
from ..project.loss_binding import loss_bindings
from ..project.project import Project
from ..project.scopes import own_nodes
from ..project.training import Training, TrainingScript
from .conditions import Formula, condition
from .frames import Frame

_MAX_DEPTH = 3
_BLOCKS = ("body", "orelse", "finalbody")

Test = tuple[ast.expr, Frame]


@dataclass(frozen=True, eq=False)
class Called:
    """One call, the function that makes it, and the tests around it; a test that leaves before it counts."""

    node: ast.Call
    frame: Frame
    tests: tuple[Test, ...]
    through: tuple[Frame, ...]

    @property
    def formulas(self) -> list[Formula]:
        return [condition(test, frame) for test, frame in self.tests]


def calls_of(frame: Frame, tests: tuple[Test, ...] = (), through: tuple[Frame, ...] = ()) -> Iterator[Called]:
    """The calls of a function, and those of the functions of the tree that it calls."""
    function = frame.scope.function
    if function is None:
        return
    through = (*through, frame)
    for node, around in calls_with_tests(function.body, []):
        here = (*tests, *((test, frame) for test in around))
        yield Called(node, frame, here, through)
        inner = frame.callee(node) if len(through) <= _MAX_DEPTH else None
        entered = inner.scope.function if inner is not None else None
        if inner is None or entered is None or frame.project.is_framework(inner.module):
            continue
        if all(entered is not outer.scope.function for outer in through):
            yield from calls_of(inner, here, through)


def calls_with_tests(
    body: list[ast.stmt], tests: list[ast.expr]
) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """Calls with the tests around them, and those that left before."""
    before = list(tests)
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(statement, ast.If):
            yield from ((node, before) for node in _calls(statement.test))
            yield from calls_with_tests(statement.body, [*before, statement.test])
            other = ast.UnaryOp(ast.Not(), statement.test)
            yield from calls_with_tests(statement.orelse, [*before, other])
            if isinstance(statement.body[-1], ast.Return):
                before.append(other)
            continue
        for child in children(statement):
            if not isinstance(child, ast.stmt | ast.ExceptHandler):
                yield from ((node, before) for node in _calls(child))
        for name in _BLOCKS:
            yield from calls_with_tests(getattr(statement, name, []), before)
        for handler in getattr(statement, "handlers", []):
            yield from calls_with_tests(handler.body, before)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    yield from (part for part in own_nodes(node) if isinstance(part, ast.Call))


def training_steps(project: Project) -> Iterator[tuple[TrainingScript, Frame]]:
    """The functions that run for each micro-batch: the steps of the scripts, and the losses that they hand over."""
    for script in project.knowledge(Training):
        for step in script.forward_steps:
            yield script, Frame(project, step)
            seen: set[int] = set()
            for binding in loss_bindings(script, step):
                if binding.loss is not None and id(binding.loss.function) not in seen:
                    seen.add(id(binding.loss.function))
                    yield script, Frame(project, binding.loss)
