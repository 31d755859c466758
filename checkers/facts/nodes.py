"""Walks of syntax trees: rules ask for the same functions again and again, so what is in one is listed once.

What is worked out of a node is kept on the node itself, and goes with it.
"""

from __future__ import annotations

import ast

from ..files.trees import children as children


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and everything in it, breadth first, without what `children` leaves out."""
    inside: list[ast.AST] | None = node.__dict__.get("_inside")
    if inside is None:
        inside = children(node)
        for part in inside:  # grows as it is read
            inside += children(part)
        node._inside = inside  # type: ignore[attr-defined]  # without the node: it would hold itself
    return [node, *inside]


def inside(node: ast.AST) -> list[ast.AST]:
    """The same for who asks once: nothing is kept."""
    found = [node]
    for part in found:  # grows as it is read
        found += children(part)
    return found


def as_code(node: ast.AST) -> str:
    """A node as code, written once."""
    text: str | None = node.__dict__.get("_code")
    if text is None:
        text = node._code = ast.unparse(node)  # type: ignore[attr-defined]
    return text


def is_none(node: ast.AST) -> bool:
    """Whether `None` is written there."""
    return isinstance(node, ast.Constant) and node.value is None
