"""Attention by what it is given: its output is split as its query is, whatever kernel computes it."""

from __future__ import annotations

import ast
import re
from functools import cache

from . import moves
from .choices import Choice, alternatives
from .interpreter import Interpreter
from .states import State
from .values import Const, Heap, Kwargs, Obj, Pair, Seq, Sym, Tensor, Unknown, Value

_QUERY = re.compile(r"x?q|q_\w+|\w+_q|quer(y|ies)(_\w+)?")

_KEY = re.compile(r"x?kv?|kv?_\w+|\w+_kv?|keys?(_\w+)?")

_CALLED = re.compile(r"attn|attention|dpa|sdpa")

_PARTS = (frozenset({"q", "k", "v"}), frozenset({"query", "key", "value"}))
"""What only an attention is given, whatever it is called."""

_ACTIVATES = re.compile(r"gelu|silu|swiglu|geglu|relu")

_ROTATES = re.compile(r"rotary|rope")


def query_of(method: ast.FunctionDef, args: tuple[Value, ...], kwargs: Kwargs) -> Value | None:
    """The query that a forward is given, where its parameters begin with a query and a key; None where not."""
    spec = method.args
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    if names[:1] == ["self"]:
        names = names[1:]
    if len(names) < 2 or not _QUERY.fullmatch(names[0]) or not _KEY.fullmatch(names[1]):
        return None
    return args[0] if args else kwargs.get(names[0])


def of_query(interp: Interpreter, result: Value, query: Value) -> Value:
    """The result of an attention, its unknown alternatives typed by the query alone.

    Any other argument's type says nothing of the output: a cache, a mask or a bias may be whole where heads are split.
    """

    def typed(leaf: Value, given: Value) -> Value:
        if isinstance(leaf, Seq) and leaf.items and _is_open(leaf.items[0]):
            return Seq((typed(leaf.items[0], given), *leaf.items[1:]), leaf.rest, leaf.kind)
        if not _is_open(leaf):
            return leaf
        given = given.output if isinstance(given, Pair) else given
        if not isinstance(given, Tensor) or given.state in (State.UNKNOWN, State.PARTIAL):
            return leaf
        return moves.moved(given).but(role="", tag="")

    return interp.lift(typed, result, query)


_CLOSED = frozenset((Const, Sym, Obj, Heap))
"""Kinds of results that no name says more of."""


def _is_open(value: Value) -> bool:
    return isinstance(value, Unknown) or (isinstance(value, Tensor) and value.state is State.UNKNOWN)


def called_name(node: ast.expr) -> str:
    """The last name of what is called."""
    func = node.func if isinstance(node, ast.Call) else node
    if isinstance(func, ast.Attribute):
        return called_name(func.value) if func.attr in ("forward", "__call__") else func.attr
    return func.id if isinstance(func, ast.Name) else ""


@cache
def _said(name: str) -> tuple[bool, bool, bool]:
    """Whether a name is that of an attention, an activation, a rotary embedding."""
    name = name.lower()
    return (
        _CALLED.search(name) is not None,
        _ACTIVATES.search(name) is not None,
        _ROTATES.search(name) is not None,
    )


def by_name(
    interp: Interpreter, result: Value, args: tuple[Value, ...], kwargs: Kwargs, node: ast.Call
) -> Value:
    """The result of a call; where it is unknown, what an attention or a rotary embedding of this name makes of queries
    and keys."""
    if type(result) in _CLOSED or not (args or kwargs):
        return result
    name = called_name(node)
    attends, activates, rotates = _said(name)
    attends = attends or (len(kwargs) > 2 and any(names <= kwargs.keys() for names in _PARTS))
    if not (attends or activates or rotates):
        return result
    leaves = [leaf for _, leaf in alternatives(result)] if isinstance(result, Choice) else [result]
    is_pair = any(map(_is_open_pair, leaves))
    if not (is_pair or any(map(_is_open, leaves))):
        return result
    if attends:
        query = _argument(node, args, kwargs, _QUERY) or _joined(interp, kwargs)
        query = query or (args[0] if len(args) >= 3 else None)
        return (
            of_query(interp, result, query) if query is not None and len(args) + len(kwargs) >= 3 else result
        )
    if activates and args and not is_pair:
        return of_query(interp, result, args[0])
    if rotates:
        turned = [
            value for value in (_argument(node, args, kwargs, word) for word in (_QUERY, _KEY)) if value
        ]
        if len(turned) > 1:
            return interp.lift(
                lambda leaf: Seq(tuple(turned)) if _is_open(leaf) or _is_open_pair(leaf) else leaf, result
            )
        return turned[0] if turned and not is_pair and not isinstance(result, Choice) else result
    return result


def _joined(interp: Interpreter, kwargs: Kwargs) -> Value | None:
    """Queries, keys and values in one tensor: what comes out is split as they are, and narrower."""
    held = next((kwargs[name] for name in ("mixed_qkv", "qkv") if name in kwargs), None)
    if held is None:
        return None
    return interp.lift(
        lambda value: value.but(width=None, dims=None) if isinstance(value, Tensor) else value, held
    )


def _is_open_pair(value: Value) -> bool:
    return isinstance(value, Seq) and len(value.items) == 2 and all(map(_is_open, value.items))


def _argument(node: ast.Call, args: tuple[Value, ...], kwargs: Kwargs, word: re.Pattern[str]) -> Value | None:
    """The argument that is named like a query or a key, at the parameter or by its variable."""
    for name, value in kwargs.items():
        if word.fullmatch(name):
            return value
    for part, value in zip(node.args, args, strict=False):
        inner = part
        while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            inner = inner.func.value  # `q.view(…)`
        if isinstance(inner, ast.Name) and word.fullmatch(inner.id):
            return value
    return None
