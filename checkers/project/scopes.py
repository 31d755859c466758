"""Names inside the functions of one script: what is assigned where, without running anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeVar, overload

from ..facts.module import ModuleFacts
from ..facts.nodes import Flat, children
from .project import dotted_name

Function = ast.FunctionDef | ast.Lambda

_CLOSED = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda))

_ENDS = _CLOSED | {ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue}
"""What has nothing in it, or nothing of the same function."""

_BINDING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.withitem)

N = TypeVar("N", bound=ast.AST)
M = TypeVar("M", bound=ast.AST)


class Scope:
    """One function of a script (None: the module level), inside the scopes around it."""

    def __init__(
        self, module: ModuleFacts, function: ast.FunctionDef | None = None, outer: Scope | None = None
    ) -> None:
        self.module, self.function, self.outer = module, function, outer
        self._kinds: dict[tuple[type[ast.AST], ...], list[Any]] = {}

    @property
    def body(self) -> list[ast.stmt]:
        return self.module.tree.body if self.function is None else self.function.body

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Everything in the scope, without the insides of its functions and classes, in source order."""
        return [node for statement in self.body for node in own_nodes(statement)]

    @overload
    def of(self, first: type[N], /) -> list[N]: ...
    @overload
    def of(self, first: type[N], second: type[M], /) -> list[N | M]: ...
    @overload
    def of(self, *kinds: type[ast.AST]) -> list[Any]: ...
    def of(self, *kinds: type[ast.AST]) -> list[Any]:
        """Those of some kinds, in source order; not to be changed."""
        found = self._kinds.get(kinds)
        if found is None:
            found = self._kinds[kinds] = [node for node in self.nodes if type(node) in kinds]
        return found

    @property
    def calls(self) -> list[ast.Call]:
        """The calls among them."""
        return self.of(ast.Call)

    @cached_property
    def bound(self) -> dict[str, list[ast.expr]]:
        """Every expression a name, or a dotted name, is assigned in this scope; unpacking leaves an opaque entry."""
        found: dict[str, list[ast.expr]] = {}
        for node in self.of(*_BINDING):
            for target, value in assignments(node):
                name = dotted_name(target)
                if name is not None:
                    found.setdefault(name, []).append(value)
        return found

    @cached_property
    def functions(self) -> dict[str, Scope]:
        """Functions defined directly in this scope."""
        return {node.name: Scope(self.module, node, self) for node in self.of(ast.FunctionDef)}

    @cached_property
    def parameters(self) -> list[str]:
        return [] if self.function is None else [arg.arg for arg in all_arguments(self.function.args)]

    def all_scopes(self) -> Iterator[Scope]:
        """This scope and every function inside it."""
        yield self
        for inner in self.functions.values():
            yield from inner.all_scopes()

    def owner_of(self, name: str) -> Scope | None:
        """The scope that binds a name as it is read here."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bound or name in scope.functions or name in scope.parameters:
                return scope
            scope = scope.outer
        return None

    def value(self, name: str) -> ast.expr | None:
        """The one expression a name is bound to; None when there are several, or it is a parameter."""
        owner = self.owner_of(name)
        found = owner.bound.get(name, []) if owner is not None and name not in owner.parameters else []
        return found[0] if len(found) == 1 and not isinstance(found[0], Opaque) else None

    def item(self, name: str) -> Opaque | None:
        """The one unpacking that gives a name its value, where the place of the item is known."""
        owner = self.owner_of(name)
        found = owner.bound.get(name, []) if owner is not None and name not in owner.parameters else []
        first = found[0] if len(found) == 1 else None
        return first if isinstance(first, Opaque) and first.index is not None else None

    def find_function(self, name: str) -> Scope | None:
        """The function of this script that a name means here."""
        owner = self.owner_of(name)
        return owner.functions.get(name) if owner is not None and name not in owner.bound else None


class Opaque(ast.expr):
    """Stands for the part of `source` that an unpacking (item `index`), a loop or an update gives a name."""

    _fields = ()

    def __init__(self, source: ast.expr, index: int | None = None) -> None:
        super().__init__()
        self.source, self.index = source, index


def own_nodes(node: ast.AST) -> list[ast.AST]:
    """A node and what is in it, depth first, without the insides of functions and classes in it."""
    found: list[ast.AST] = [node]
    if type(node) in _CLOSED:
        return found
    flat: Flat | None = node.__dict__.get("_flat")
    if flat is None:
        rest = children(node)[::-1]
        while rest:
            part = rest.pop()
            found.append(part)
            if type(part) not in _ENDS:
                rest += children(part)[::-1]
        return found
    at, nodes, first = node.__dict__["_at"], flat.nodes, flat.first
    waiting = list(range(first[at + 1] - 1, first[at] - 1, -1))
    while waiting:
        at = waiting.pop()
        part = nodes[at]
        found.append(part)
        if type(part) not in _ENDS:
            start, end = first[at], first[at + 1]
            if end - start == 1:
                waiting.append(start)
            elif start < end:
                waiting += range(end - 1, start - 1, -1)
    return found


def nodes_near(node: ast.AST, lines: set[int]) -> Iterator[ast.AST]:
    """What stands on, or around, some lines: walks into nothing else, which is what makes it cheap."""
    for child in children(node):
        first, last = getattr(child, "lineno", None), getattr(child, "end_lineno", None)
        if first is None or any(first <= line <= (last or first) for line in lines):
            yield child
            yield from nodes_near(child, lines)


def lines_with(text: str, word: str) -> set[int]:
    """Numbers of the lines that hold a word."""
    found: set[int] = set()
    number, start, place = 1, 0, text.find(word)
    while place >= 0:
        number += text.count("\n", start, place)
        found.add(number)
        start, place = place, text.find(word, place + len(word))
    return found


def assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets and what they are given, tuples taken apart where both sides show their items."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _unpacked(target, node.value)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.AugAssign):
        yield node.target, Opaque(node.value)
    elif isinstance(node, ast.NamedExpr):
        yield node.target, node.value
    elif isinstance(node, ast.For):
        yield from _unpacked(node.target, Opaque(node.iter))
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from _unpacked(node.optional_vars, node.context_expr)


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if not isinstance(target, ast.Tuple | ast.List):
        yield target, value
        return
    items = (
        value.elts
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        else None
    )
    starred = any(isinstance(part, ast.Starred) for part in target.elts)
    for index, part in enumerate(target.elts):
        inner = part.value if isinstance(part, ast.Starred) else part
        is_known = not starred and not isinstance(value, Opaque)
        given = (
            items[index]
            if items is not None
            else Opaque(getattr(value, "source", value), index if is_known else None)
        )
        yield from _unpacked(inner, given)


def all_arguments(spec: ast.arguments) -> list[ast.arg]:
    """Every named parameter, positional ones first."""
    extra = [arg for arg in (spec.vararg, spec.kwarg) if arg is not None]
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *extra]
