"""Which values of a training step are the batch as the dataset made it, moved and reshaped but never converted."""

from __future__ import annotations

import ast

from ..facts.nodes import is_none
from .scopes import Opaque, Scope

_KEEPS = frozenset(
    "cuda contiguous clone detach unsqueeze squeeze view reshape permute transpose flatten".split()
)


class Batch:
    """The raw values of one step; `reads` are its `next(data_iterator)` calls."""

    def __init__(self, step: Scope, reads: list[ast.Call]) -> None:
        self.step = step
        self.reads = reads
        self.names: set[str] = set()
        grew = True
        while grew:
            fresh = {
                name
                for name, values in step.bound.items()
                if name not in self.names and self._is_raw_binding([v for v in values if not is_none(v)])
            }
            self.names |= fresh
            grew = bool(fresh)

    def _is_raw_binding(self, values: list[ast.expr]) -> bool:
        return bool(values) and all(self.is_raw(value) for value in values)

    def is_raw(self, node: ast.expr) -> bool:
        """Whether an expression is surely data of the batch in the type the dataset gave it."""
        if isinstance(node, Opaque):
            return self.is_raw(node.source)
        if isinstance(node, ast.Name):
            return node.id in self.names
        if isinstance(node, ast.Subscript):
            return self.is_raw(node.value)
        if isinstance(node, ast.IfExp):
            parts = [part for part in (node.body, node.orelse) if not is_none(part)]
            return bool(parts) and all(self.is_raw(part) for part in parts)
        if not isinstance(node, ast.Call):
            return False
        if node in self.reads:
            return True
        if not isinstance(node.func, ast.Attribute) or not self.is_raw(node.func.value):
            return False
        return node.func.attr in _KEEPS or (node.func.attr == "to" and _moves_only(node))


def _moves_only(node: ast.Call) -> bool:
    """Whether `.to(…)` names a device and no dtype."""
    names = {keyword.arg for keyword in node.keywords}
    first = node.args[0] if node.args else None
    is_device = isinstance(first, ast.Constant) or (first is not None and "dev" in ast.unparse(first))
    return len(node.args) <= 1 and names <= {"device", "non_blocking"} and (is_device or first is None)
