"""What stands around a node of a function: the conditions and `with` blocks it runs under."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def calls_within(function: ast.FunctionDef) -> Iterator[tuple[ast.Call, tuple[ast.AST, ...]]]:
    """Every call of a function, in source order, with the statements and expressions around it, outermost first.

    Functions and lambdas defined inside are left out: when they run is not told by where they stand.
    """
    for statement in function.body:
        yield from _calls(statement, ())


def _calls(node: ast.AST, around: tuple[ast.AST, ...]) -> Iterator[tuple[ast.Call, tuple[ast.AST, ...]]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        return
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, (*around, node))
    if isinstance(node, ast.Call):
        yield node, around


def around_call(function: ast.FunctionDef, node: ast.AST) -> tuple[ast.AST, ...] | None:
    """What stands around one call of a function, outermost first; None if it is no call of its own."""
    return next((around for call, around in calls_within(function) if call is node), None)


def is_forked(around: tuple[ast.AST, ...]) -> bool:
    """Whether a node runs under `with get_cuda_rng_tracker().fork():`, also where only some settings fork."""
    return any(
        "fork(" in ast.unparse(item.context_expr) or "rng" in ast.unparse(item.context_expr).lower()
        for block in around
        if isinstance(block, ast.With)
        for item in block.items
    )


def is_conditional(around: tuple[ast.AST, ...]) -> bool:
    """Whether a node runs under some condition only."""
    return any(isinstance(node, ast.If | ast.IfExp | ast.BoolOp | ast.Match | ast.Try) for node in around)


def leaves_early(function: ast.FunctionDef, line: int) -> bool:
    """Whether a return, raise or assert stands before a line: what follows runs under a condition."""
    return any(
        isinstance(node, ast.Return | ast.Raise | ast.Assert) and node.lineno < line
        for node in ast.walk(function)
    )
