"""Walks of syntax trees, and nodes as code.

What is worked out of a node is kept on the node itself, and goes with it.
"""

from __future__ import annotations

import ast

from ..files.trees import Flat as Flat
from ..files.trees import below as below
from ..files.trees import children as children
from ..files.trees import copied as copied


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and everything in it, breadth first, without what `children` leaves out."""
    return [node, *below(node)]


def as_code(node: ast.AST) -> str:
    """A node as code, written once."""
    text: str | None = node.__dict__.get("_code")
    if text is None:
        text = node._code = dotted_name(node) or ast.unparse(node)  # type: ignore[attr-defined]
    return text


def is_none(node: ast.AST) -> bool:
    """Whether `None` is written there."""
    return isinstance(node, ast.Constant) and node.value is None


def dotted_name(node: ast.AST) -> str | None:
    """`a.b.c` for a Name or a chain of Attributes, else None."""
    if type(node) is ast.Name:
        return node.id
    if type(node) is not ast.Attribute:
        return None
    dotted, owner = node.attr, node.value
    while type(owner) is ast.Attribute:
        dotted, owner = f"{owner.attr}.{dotted}", owner.value
    return f"{owner.id}.{dotted}" if type(owner) is ast.Name else None
