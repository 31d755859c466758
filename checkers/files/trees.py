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


def compact(tree: ast.Module) -> int:
    """Give the nodes of one kind dictionaries that share their keys (PEP 412), as Python does for classes.

    Returns:
        how many nodes lie above one another at most.
    """
    depth, level = 0, [tree]
    while level:
        depth += 1
        below: list[Any] = []
        for node in level:
            kind = type(node)
            if kind not in _SHARED:
                if node is None:  # `{**more}` has a key of none
                    continue
                _SHARED[kind] = (_sharing(node.__dict__), len(node.__dict__), _fields_of(kind))
            shared, size, names = _SHARED[kind]
            own = node.__dict__
            for name in names:
                value = own.get(name)
                if type(value) is list:
                    below += value
                elif value is not None:
                    below.append(value)
            if len(own) == size:
                node.__dict__ = shared | own
        level = below
    return depth


_SHARED: dict[type, tuple[dict[str, Any], int, tuple[str, ...]]] = {}
"""For each kind of node a dictionary whose copies share their keys, how many these are, and which hold nodes."""


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
