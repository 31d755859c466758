"""Which item of a batch a value of a training step is, from which read, and how it comes to the device."""

from __future__ import annotations

import ast

from ..facts.nodes import is_none
from .scopes import Opaque
from .scopes import Scope as Names

_MAX_STEPS = 8
_KEEPS = frozenset(
    "float double half bfloat16 contiguous clone detach unsqueeze squeeze view reshape permute".split()
)


def taken(loss: Names | None, step: Names) -> list[ast.expr]:
    """The names of the step that a loss function defined in it reads."""
    if loss is None or loss.outer is None or loss.outer.function is not step.function:
        return []
    found = {
        node.id: node
        for node in loss.nodes
        if isinstance(node, ast.Name)
        and loss.owner_of(node.id) is loss.outer
        and node.id not in step.functions
    }
    return list(found.values())


def item_of(node: ast.expr, step: Names, reads: set[int], steps: int = 0) -> tuple[int, ast.expr] | None:
    """Which item of the batch a value is, and where it is taken."""
    if steps > _MAX_STEPS:
        return None
    if isinstance(node, ast.Name):
        unpacked = step.item(node.id)
        if unpacked is not None and unpacked.index is not None and _is_read(unpacked.source, step, reads):
            return unpacked.index, unpacked.source
        made = [
            value
            for value in step.bound.get(node.id, [])
            if not is_none(value) and not isinstance(value, Opaque)
        ]
        return item_of(made[0], step, reads, steps + 1) if len(made) == 1 else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return item_of(node.func.value, step, reads, steps + 1)
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and type(node.slice.value) is int
    ):
        return (node.slice.value, node) if _is_read(node.value, step, reads) else None
    return None


def _is_read(node: ast.expr, step: Names, reads: set[int]) -> bool:
    return read_of(node, step, reads) is not None


def read_of(node: ast.expr, step: Names, reads: set[int]) -> ast.expr | None:
    """The read that a batch comes from."""
    if isinstance(node, ast.Name):
        made = [value for value in step.bound.get(node.id, []) if not is_none(value)]
        return read_of(made[0], step, reads) if len(made) == 1 else None
    return node if id(node) in reads else None


def moved_by(node: ast.expr, step: Names, reads: set[int], steps: int = 0) -> str | None:
    """How an item of the batch is brought to the device, `.cuda()`; empty where nothing does, None if unknown."""
    if steps > _MAX_STEPS:
        return None
    if isinstance(node, ast.Name):
        made = [value for value in step.bound.get(node.id, []) if not is_none(value)]
        if len(made) != 1:
            return None
        if isinstance(made[0], Opaque):
            return "" if _is_read(made[0].source, step, reads) else None
        return moved_by(made[0], step, reads, steps + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("cuda", "to", "npu", "xpu", "type", "type_as"):
            is_device = node.func.attr in ("cuda", "npu", "xpu") or "dev" in ast.unparse(node)
            return f".{node.func.attr}({', '.join(map(ast.unparse, node.args))})" if is_device else None
        return moved_by(node.func.value, step, reads, steps + 1) if node.func.attr in _KEEPS else None
    if isinstance(node, ast.Subscript):
        return "" if _is_read(node.value, step, reads) else None
    return None
