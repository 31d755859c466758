"""Walks of syntax trees: rules ask for the same functions again and again, so what is in one is listed once.

What is worked out of a node is kept on the node itself, and goes with it.
"""

from __future__ import annotations

import ast


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and everything in it, breadth first, without what `children` leaves out."""
    inside: list[ast.AST] | None = node.__dict__.get("_inside")
    if inside is None:
        inside = children(node)
        for part in inside:  # grows as it is read
            inside += children(part)
        node._inside = inside  # type: ignore[attr-defined]  # without the node: it would hold itself
    return [node, *inside]


def as_code(node: ast.AST) -> str:
    """A node as code, written once."""
    text: str | None = node.__dict__.get("_code")
    if text is None:
        text = node._code = ast.unparse(node)  # type: ignore[attr-defined]
    return text


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly in a node, in source order; what tells load from store, and operators, are no nodes here."""
    names = _FIELDS.get(type(node))
    if names is None:
        names = _FIELDS[type(node)] = _fields_of(type(node))
    found: list[ast.AST] = []
    for name in names:
        value = getattr(node, name, None)
        if type(value) is list:
            found += value if None not in value else [part for part in value if part is not None]
        elif value is not None:
            found.append(value)
    return found


_FIELDS: dict[type, tuple[str, ...]] = {}
"""Those fields of each kind of node that hold nodes or lists of them."""

_PLAIN = frozenset(
    "ctx op ops id attr arg kind asname module level type_comment type_ignores is_async simple conversion rest "
    "kwd_attrs str".split()
)


def _fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    names = [name for name in kind._fields if name not in _PLAIN]
    if issubclass(kind, ast.Constant | ast.MatchSingleton | ast.Global | ast.Nonlocal):
        return ()
    if kind.__name__ != "TypeAlias":
        names = [name for name in names if name != "name"]
    return tuple(names)
