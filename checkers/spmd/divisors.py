"""What the result of a sum over ranks is divided by."""

from __future__ import annotations

import ast

from .axes import size_axes
from .collectives import Collective
from .frames import Frame
from .gradient_norms import splits_models
from .names import CP, DP, EXPERT, WORLD, Axes


def lacks(own: Axes, divisor: Axes) -> bool:
    """Whether the ranks of a sum are others than those that it is divided by, or only the replicas of them."""
    if own & EXPERT:
        return False  # experts live on fewer replicas, and what is averaged is the same batch
    return not own & divisor or (own == DP and divisor == DP | CP)


def divided_by(entry: Collective, frame: Frame, others: list[Collective]) -> tuple[ast.AST, Axes] | None:
    """A division of the reduced value by the size of a group that shares no axis with its own."""
    own = entry.axes
    if (
        entry.name != "all_reduce"
        or not own
        or own == WORLD
        or not entry.node.args
        or _op(entry) not in ("", "SUM")
    ):
        return None
    value = ast.unparse(entry.node.args[0])
    for node in frame.scope.nodes:
        divisor = _divisor(node, value)
        axes = size_axes(divisor, frame) if divisor is not None else None
        if axes is None or not (lacks(own, axes) or (axes == WORLD and axes & own)):
            continue
        if axes == WORLD and not frame.project.knowledge(splits_models):
            continue
        left = axes - own or axes
        done = any(other.axes is None or other.axes & left for other in others if other is not entry)
        if not done and getattr(node, "lineno", 0) >= entry.node.lineno:
            return node, axes
    return None


def _op(entry: Collective) -> str:
    for keyword in entry.node.keywords:
        if keyword.arg == "op":
            return ast.unparse(keyword.value).rsplit(".", 1)[-1]
    return ast.unparse(entry.node.args[1]).rsplit(".", 1)[-1] if len(entry.node.args) > 1 else ""


def _divisor(node: ast.AST, value: str) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and ast.unparse(node.left) == value:
        return node.right
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div) and ast.unparse(node.target) == value:
        return node.value
    is_call = (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("div", "div_")
    )
    if is_call and isinstance(node, ast.Call) and node.args and ast.unparse(node.func.value) == value:  # type: ignore[attr-defined]
        return node.args[0]
    return None
