"""Walks of syntax trees: rules ask for the same functions again and again, so what is in one is listed once."""

from __future__ import annotations

import ast
from weakref import WeakKeyDictionary

_inside: WeakKeyDictionary[ast.AST, list[ast.AST]] = WeakKeyDictionary()
"""What is in a node, without the node itself: an entry that held its own key would never go."""

_texts: WeakKeyDictionary[ast.AST, str] = WeakKeyDictionary()


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and everything in it, breadth first, as `ast.walk` gives it; kept as long as the tree is."""
    inside = _inside.get(node)
    if inside is None:
        inside = children(node)
        for part in inside:  # grows as it is read
            inside += children(part)
        _inside[node] = inside
    return [node, *inside]


def as_code(node: ast.AST) -> str:
    """A node as code, written once."""
    text = _texts.get(node)
    if text is None:
        text = _texts[node] = ast.unparse(node)
    return text


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly in a node, as `ast.iter_child_nodes` gives them, at half the cost."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [part for part in value if isinstance(part, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found
