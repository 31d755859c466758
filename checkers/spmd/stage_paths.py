"""What runs on one pipeline stage: the statements and returns that its answers do not rule out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts.nodes import children, walk
from .conditions import Atom, Known, atoms_of, condition, decide
from .frames import Frame
from .names import PP

IS_FIRST, IS_LAST = Atom("pp", "0", PP), Atom("pp", "last", PP)
Answers = Known
_MAX_DEPTH = 3
_LEAVES = {ast.Return}
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


def texts_of(frame: Frame) -> list[str]:
    """The tests on other things that are joined with a question about the stage in one condition: flags."""
    found: list[str] = []
    for node in frame.scope.of(ast.If):
        formula = condition(node.test, frame)
        if atoms_of(formula) and isinstance(formula, tuple):
            found += [part for part in formula[1] if isinstance(part, str)]
    return list(dict.fromkeys(found))[:3]


def attributes_read(
    frame: Frame, known: Answers, depth: int = 0
) -> Iterator[tuple[str, ast.Attribute, Frame]]:
    """`self.x` that a function surely reads on a stage, its own methods followed."""
    function = frame.scope.function
    if function is None:
        return
    for node in _surely(function.body, frame, known):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                yield node.attr, node, frame
        elif isinstance(node, ast.Call) and depth < _MAX_DEPTH:
            own = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "self"
            inner = frame.callee(node) if own else None
            if inner is not None:
                yield from attributes_read(inner, known, depth + 1)


def _surely(body: list[ast.stmt], frame: Frame, known: Answers) -> Iterator[ast.AST]:
    """Expressions that run whatever the other tests say; ends where one of them may leave."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _evaluated(statement.test, frame, known)
            answer = decide(condition(statement.test, frame), known)
            if answer is not None:
                chosen = statement.body if answer else statement.orelse
                yield from _surely(chosen, frame, known)
                if chosen and isinstance(chosen[-1], ast.Return | ast.Raise):
                    return
            elif any(
                _LEAVES & {type(node)} for part in (*statement.body, *statement.orelse) for node in walk(part)
            ):
                return
        elif isinstance(statement, ast.For):
            yield from _evaluated(statement.iter, frame, known)
        elif isinstance(statement, ast.With):
            for item in statement.items:
                yield from _evaluated(item.context_expr, frame, known)
            yield from _surely(statement.body, frame, known)
        elif isinstance(statement, ast.While | ast.Try | ast.FunctionDef | ast.ClassDef):
            continue
        else:
            yield from _evaluated(statement, frame, known)
            if isinstance(statement, ast.Return | ast.Raise):
                return


def _evaluated(node: ast.AST, frame: Frame, known: Answers) -> Iterator[ast.AST]:
    """A node and what is surely evaluated in it."""
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return
    if isinstance(node, ast.IfExp):
        yield from _evaluated(node.test, frame, known)
        answer = decide(condition(node.test, frame), known)
        if answer is not None:
            yield from _evaluated(node.body if answer else node.orelse, frame, known)
        return
    if isinstance(node, ast.BoolOp):
        settles = isinstance(node.op, ast.Or)
        for part in node.values:
            yield from _evaluated(part, frame, known)
            if decide(condition(part, frame), known) in (None, settles):
                return
        return
    yield node
    for child in children(node):
        yield from _evaluated(child, frame, known)
