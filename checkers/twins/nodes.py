"""What a method computes, as a graph of operations: two methods that compute the same have equal keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ModuleFacts


@dataclass(frozen=True, eq=False)
class Spot:
    """An expression or statement of one file."""

    module: ModuleFacts
    node: ast.AST

    @property
    def line(self) -> int:
        return int(getattr(self.node, "lineno", 1))


@dataclass(frozen=True, eq=False)
class Node:
    """One operation. `names` are the keywords of its operands ("" for positional ones), `spots` where each was written.

    `value` holds the constant of a constant; `ref` what the operation names, where the tree defines it.
    """

    op: str
    args: tuple[Node, ...]
    names: tuple[str, ...]
    key: int
    spot: Spot
    spots: tuple[Spot, ...] = ()
    value: object = None
    ref: object = None

    def arg(self, name: str) -> Node | None:
        """The operand of a keyword."""
        return next((arg for arg, own in zip(self.args, self.names, strict=True) if own == name), None)


@dataclass
class Keys:
    """Equal operations on equal operands have one number."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], int] = {}

    def of(self, op: str, args: tuple[Node, ...], names: tuple[str, ...], value: object) -> int:
        own = (op, names, type(value).__name__, repr(value), *(arg.key for arg in args))
        return self._found.setdefault(own, len(self._found))


def reachable(node: Node) -> Iterator[Node]:
    """A node and all below it, each key once."""
    seen: set[int] = set()
    todo = [node]
    while todo:
        found = todo.pop()
        if found.key not in seen:
            seen.add(found.key)
            yield found
            todo += reversed(found.args)
