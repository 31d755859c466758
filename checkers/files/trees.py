"""What is directly in a node of a syntax tree; and trees that take a third less room."""

from __future__ import annotations

import ast
from typing import Any


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


def compact(tree: ast.Module) -> None:
    """Give the nodes of one kind dictionaries that share their keys (PEP 412), as Python does for classes."""
    todo: list[ast.AST] = [tree]
    for node in todo:  # grows as it is read
        todo += children(node)
        own, kind = node.__dict__, type(node)
        shared = _SHARED.get(kind)
        if shared is None:
            shared = _SHARED[kind] = _sharing(own)
        if len(own) == len(shared):
            node.__dict__ = shared.copy()
            node.__dict__.update(own)


_SHARED: dict[type, dict[str, Any]] = {}


def _sharing(attributes: dict[str, Any]) -> dict[str, Any]:
    """A dictionary with these keys whose copies share them: that of an instance, once its class has had many."""
    holder = type("Attributes", (), {})
    shared: dict[str, Any] = {}
    for _ in range(32):  # each leaves less room for further keys
        instance = holder()
        for key in attributes:
            setattr(instance, key, None)
        shared = instance.__dict__
    return shared
