"""What is directly in a node of a syntax tree; and trees that take a third less room."""

from __future__ import annotations

import ast
import copy
from array import array
from typing import Any, TypeVar

N = TypeVar("N", bound=ast.AST)


class Flat:
    """The nodes of a tree, breadth first: those directly in number `i` are numbers `first[i]` to `first[i + 1]`."""

    __slots__ = ("first", "nodes")

    def __init__(self, tree: ast.AST) -> None:
        self.nodes: list[ast.AST] = [tree]
        self.first = array("I")

    def depth(self) -> int:
        """How many nodes lie above one another at most."""
        first, start, end, depth = self.first, 0, 1, 0
        while start < end:
            start, end, depth = first[start], first[end], depth + 1
        return depth


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly in a node, in source order; what tells load from store, and operators, are no nodes here."""
    own = node.__dict__
    flat: Flat | None = own.get("_flat")
    if flat is not None:
        at, first = own["_at"], flat.first
        return flat.nodes[first[at] : first[at + 1]]
    return _read_children(node)


def below(node: ast.AST) -> list[ast.AST]:
    """Everything in a node, breadth first, without the node itself and what `children` leaves out."""
    own = node.__dict__
    flat: Flat | None = own.get("_flat")
    if flat is None:
        found = _read_children(node)
        for part in found:  # grows as it is read
            found += children(part)
        return found
    at, nodes, first = own["_at"], flat.nodes, flat.first
    start, end = first[at], first[at + 1]
    found = nodes[start:end]
    while start < end:  # what one level holds lies side by side on the next
        start, end = first[start], first[end]
        found += nodes[start:end]
    return found


def copied(node: N) -> N:
    """A node of its own with the same fields, which may be changed."""
    twin = copy.copy(node)
    twin.__dict__.pop("_flat", None)
    return twin


def _read_children(node: ast.AST) -> list[ast.AST]:
    names = _FIELDS.get(type(node))
    if names is None:
        names = _FIELDS[type(node)] = _fields_of(type(node))
    found: list[ast.AST] = []
    for name in names:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [part for part in value if part is not None] if type(node) in _HOLED else value
        elif value is not None:
            found.append(value)
    return found


_FIELDS: dict[type, tuple[str, ...]] = {}
"""Those fields of each kind of node that hold nodes or lists of them."""

_HOLED = frozenset((ast.Dict, ast.arguments))
"""Kinds whose lists may hold None: `{**more}` has a key of none, `*, name` no default."""

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
    """List the nodes of a tree, and give those of one kind dictionaries that share their keys (PEP 412).

    Returns:
        how many nodes lie above one another at most.
    """
    flat = Flat(tree)
    nodes, starts = flat.nodes, flat.first.append
    add = nodes.append
    for number, node in enumerate(nodes):  # grows as it is read
        starts(len(nodes))
        kind = type(node)
        own = node.__dict__
        if kind not in _SHARED:
            names = _fields_of(kind)
            _SHARED[kind] = (_sharing([*own, *(("_flat", "_at") if names else ())]), len(own), names)
        shared, size, names = _SHARED[kind]
        for name in names:
            value = own.get(name)
            if value is not None:
                if type(value) is not list:
                    add(value)
                elif kind in _HOLED:
                    nodes += [part for part in value if part is not None]
                else:
                    nodes += value
        if number == len(_NUMBERS):
            _NUMBERS.append(number)
        if len(own) == size:
            node.__dict__ = own = shared | own
        if names:
            own["_flat"] = flat
            own["_at"] = _NUMBERS[number]
    starts(len(nodes))
    return flat.depth()


_NUMBERS: list[int] = []
"""One object for each number of a node, whatever the tree."""

_SHARED: dict[type, tuple[dict[str, Any], int, tuple[str, ...]]] = {}
"""For each kind of node a dictionary whose copies share their keys, how many these are, and which hold nodes."""


def _sharing(keys: list[str]) -> dict[str, Any]:
    """A dictionary with these keys whose copies share them: that of an instance, once its class has had many."""
    holder = type("Attributes", (), {})
    shared: dict[str, Any] = {}
    for _ in range(32):  # each leaves less room for further keys
        instance = holder()
        for key in keys:
            setattr(instance, key, None)
        shared = instance.__dict__
    return shared
