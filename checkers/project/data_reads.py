"""Where a training step reads its data, and on which pipeline stages that line runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..facts.nodes import children
from .project import dotted_name
from .scopes import Scope
from .training import TrainingScript

FIRST, MIDDLE, LAST = "first", "middle", "last"
ALL = frozenset({FIRST, MIDDLE, LAST})
NONE: frozenset[str] = frozenset()
_MAX_DEPTH = 3


@dataclass(frozen=True)
class Where:
    """On which stages a line runs at most; `is_open` where a test on the way is about something else."""

    stages: frozenset[str] = ALL
    is_open: bool = False
    tried: ast.Try | None = None


@dataclass(frozen=True, eq=False)
class DataRead:
    """A `next(data_iterator)` of a training step or of a function that the step hands its iterator to.

    `call` is the call of the step that leads to it, or the read itself.
    """

    node: ast.Call
    scope: Scope
    where: Where
    call: ast.Call


def data_reads(script: TrainingScript, step: Scope) -> list[DataRead]:
    """Every read of one step, in source order."""
    return list(_reads(script, step, step.parameters[0], Where(), 0)) if step.parameters else []


def calls_with_stages(step: Scope) -> Iterator[tuple[ast.Call, Where]]:
    """Every call of a step with the stages on which it runs."""
    return _calls(step.body, step, Where())


def _reads(
    script: TrainingScript,
    scope: Scope,
    iterator: str,
    where: Where,
    depth: int,
    outer: ast.Call | None = None,
) -> Iterator[DataRead]:
    for call, place in _calls(scope.body, scope, where):
        passed = [
            index for index, arg in enumerate(call.args) if isinstance(arg, ast.Name) and arg.id == iterator
        ]
        if not passed:
            continue
        if isinstance(call.func, ast.Name) and call.func.id == "next":
            yield DataRead(call, scope, place, outer or call)
            continue
        helper = script.function(call.func, scope)
        if helper is not None and depth < _MAX_DEPTH and passed[0] < len(helper.parameters):
            yield from _reads(script, helper, helper.parameters[passed[0]], place, depth + 1, outer or call)


def _calls(body: list[ast.stmt], scope: Scope, where: Where) -> Iterator[tuple[ast.Call, Where]]:
    """Every call of a block with where it runs; a test whose block leaves the function holds for what follows."""
    for statement in body:
        yield from _statement(statement, scope, where)
        if isinstance(statement, ast.If):
            leaves = (_leaves(statement.body), _leaves(statement.orelse))
            if leaves[0] != leaves[1]:
                where = narrowed(where, statement.test, scope, side=leaves[1])


def _statement(node: ast.AST, scope: Scope, where: Where) -> Iterator[tuple[ast.Call, Where]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    if isinstance(node, ast.If):
        yield from _statement(node.test, scope, where)
        yield from _calls(node.body, scope, narrowed(where, node.test, scope, side=True))
        yield from _calls(node.orelse, scope, narrowed(where, node.test, scope, side=False))
        return
    if isinstance(node, ast.IfExp):
        yield from _statement(node.body, scope, narrowed(where, node.test, scope, side=True))
        yield from _statement(node.orelse, scope, narrowed(where, node.test, scope, side=False))
        return
    if isinstance(node, ast.Try):
        yield from _calls(node.body, scope, replace(where, tried=node) if node.handlers else where)
        for block in (
            [inner for handler in node.handlers for inner in handler.body],
            node.orelse,
            node.finalbody,
        ):
            yield from _calls(block, scope, where)
        return
    if isinstance(node, ast.Call):
        yield node, where
    if isinstance(node, ast.For | ast.While | ast.With):
        for child in children(node):
            if not isinstance(child, ast.stmt):
                yield from _statement(child, scope, where)
        inner = replace(where, is_open=True) if isinstance(node, ast.While) else where
        yield from _calls(node.body, scope, inner)
        return
    for child in children(node):
        yield from _statement(child, scope, where)


def _leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise)


def narrowed(where: Where, test: ast.expr, scope: Scope, side: bool) -> Where:
    """Where a line runs behind one side of a test."""
    surely, maybe = stages_of(test, scope)
    if not surely and maybe == ALL:
        return replace(where, is_open=True)
    return replace(
        where,
        stages=where.stages & (maybe if side else ALL - surely),
        is_open=where.is_open or surely != maybe,
    )


def stages_of(test: ast.expr, scope: Scope, steps: int = 0) -> tuple[frozenset[str], frozenset[str]]:
    """The stages on which a test is surely true, and those on which it may be."""
    if steps > 8:
        return NONE, ALL
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        surely, maybe = stages_of(test.operand, scope, steps + 1)
        return ALL - maybe, ALL - surely
    if isinstance(test, ast.BoolOp):
        parts = [stages_of(part, scope, steps + 1) for part in test.values]
        join = frozenset.union if isinstance(test.op, ast.Or) else frozenset.intersection
        return join(*(part[0] for part in parts)), join(*(part[1] for part in parts))
    if isinstance(test, ast.Name | ast.Attribute):
        bound = scope.value(dotted_name(test) or "")
        return (NONE, ALL) if bound is None else stages_of(bound, scope, steps + 1)
    if isinstance(test, ast.Call):
        name = (dotted_name(test.func) or "").rsplit(".", 1)[-1]
        if name.startswith("is_pipeline_first_stage"):
            return frozenset({FIRST}), frozenset({FIRST})
        if name.startswith("is_pipeline_last_stage"):
            return frozenset({LAST}), frozenset({LAST})
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(test, scope)
    return NONE, ALL


def _compared(test: ast.Compare, scope: Scope) -> tuple[frozenset[str], frozenset[str]]:
    """`pp_rank == 0`, `pp_rank == pp_size - 1`, `pp_rank in (0, 3)`."""
    if not _is_rank(test.left, scope):
        return NONE, ALL
    right, operator = test.comparators[0], test.ops[0]
    is_equal = isinstance(operator, ast.Eq)
    if isinstance(right, ast.Constant) and right.value == 0 and isinstance(operator, ast.Eq | ast.NotEq):
        found = frozenset({FIRST})
    elif (
        isinstance(right, ast.BinOp)
        and isinstance(right.op, ast.Sub)
        and isinstance(operator, ast.Eq | ast.NotEq)
    ):
        found = frozenset({LAST})
    else:
        return NONE, ALL
    return (found, found) if is_equal else (ALL - found, ALL - found)


def _is_rank(node: ast.expr, scope: Scope) -> bool:
    if isinstance(node, ast.Name):
        bound = scope.value(node.id)
        return bound is not None and _is_rank(bound, scope)
    return isinstance(node, ast.Call) and "pipeline_model_parallel_rank" in (dotted_name(node.func) or "")
