"""Calls of builtins, the standard library, torch and Megatron helpers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from . import arithmetic, attributes, calls, conditions, indexing, instance_tests
from .callables import Func
from .choices import Choice
from .interpreter import Interpreter
from .symbols import Poly
from .values import (
    HEADS,
    NONE,
    PER_RANK,
    UNKNOWN,
    Cls,
    Const,
    Heap,
    Kwargs,
    Obj,
    Pair,
    Seq,
    Sym,
    Table,
    Value,
)

Handler = Callable[[Interpreter, tuple[Value, ...], Kwargs, ast.expr], Value]


def _isinstance(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    return instance_tests.is_instance(interp, args, kwargs, node)


def _len(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    found = indexing.as_seq(interp, args[0]) if args else None
    if found is not None and found.rest is None:
        return Const(len(found.items))
    if (
        args
        and isinstance(args[0], Heap)
        and isinstance(args[0].content, Table)
        and args[0].content.rest is None
    ):
        return Const(len(args[0].content.entries))
    if args and isinstance(args[0], Sym):
        return Sym(Poly.atom(f"len({args[0].text})"))
    return interp.fresh("len")


def _range(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    if args and all(isinstance(arg, Const) and isinstance(arg.value, int) for arg in args):
        try:
            numbers_ = range(*(arg.value for arg in args if isinstance(arg, Const)))
        except (TypeError, ValueError):
            return UNKNOWN
        if len(numbers_) <= 64:
            return Seq(tuple(Const(value) for value in numbers_))
    return Seq((), UNKNOWN)


def _getattr(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    if len(args) >= 2 and isinstance(args[1], Const) and isinstance(args[1].value, str):
        name = args[1].value
        assert interp.frame is not None
        owner = interp.settle(args[0])
        if (
            isinstance(owner, Obj)
            and name not in owner.attrs
            and len(args) > 2
            and owner.cls.facts is not None
        ):
            if interp.project.method(owner.cls.facts, name) is None and not owner.opaque:
                return interp.fresh(name)
        return interp.lift(lambda value: attributes.read(interp, interp.frame, value, name, node), owner)  # type: ignore[arg-type]
    return UNKNOWN


def _setattr(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    if len(args) == 3 and isinstance(args[0], Obj) and isinstance(args[1], Const):
        interp.write(args[0].attrs, args[1].value, args[2])
    return NONE


def _hasattr(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    if len(args) == 2 and isinstance(args[0], Obj) and isinstance(args[1], Const):
        if args[1].value in args[0].attrs:
            return Const(True)
    text = ast.unparse(node)
    return Sym.named(text)


def _enumerate(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    found = indexing.as_seq(interp, args[0]) if args else None
    if found is None:
        return Seq((), Seq((interp.fresh("index"), UNKNOWN)))
    start = (
        args[1].value
        if len(args) > 1 and isinstance(args[1], Const) and isinstance(args[1].value, int)
        else 0
    )
    items = tuple(Seq((Const(index + start), value)) for index, value in enumerate(found.items))
    return Seq(items, Seq((interp.fresh("index"), found.rest)) if found.rest is not None else None)


def _zip(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    columns = [indexing.as_seq(interp, arg) for arg in args]
    if not columns or any(column is None for column in columns):
        return Seq((), Seq(tuple(UNKNOWN for _ in args)))
    known = [column for column in columns if column is not None]
    if any(column.rest is not None for column in known):
        return Seq(
            (), Seq(tuple(column.items[0] if column.items else column.rest or UNKNOWN for column in known))
        )
    return Seq(tuple(Seq(row) for row in zip(*(column.items for column in known), strict=False)))


def _as_list(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    found = indexing.as_seq(interp, args[0]) if args else Seq(())
    return Heap("list", {"content": found if found is not None else Seq((), UNKNOWN)})


def _as_tuple(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    if args and isinstance(args[0], Pair):
        return args[0]
    found = indexing.as_seq(interp, args[0]) if args else Seq(())
    return found if found is not None else (args[0] if isinstance(args[0], Sym) else Seq((), UNKNOWN))


def _as_dict(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    entries: dict[Any, Value] = {key: value for key, value in kwargs.items() if key not in ("**", "*")}
    rest: Value | None = UNKNOWN if "**" in kwargs else None
    if args and isinstance(args[0], Heap) and isinstance(args[0].content, Table):
        entries = {**args[0].content.entries, **entries}
        rest = args[0].content.rest or rest
    elif args:
        rest = UNKNOWN
    return Heap("dict", {"content": Table(entries, rest)})


def _as_int(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    value = args[0] if args else UNKNOWN
    if isinstance(value, Const):
        try:
            return Const(int(value.value))
        except (TypeError, ValueError, OverflowError):
            return UNKNOWN
    return Sym(value.poly, value.tags - {"ratio"}) if isinstance(value, Sym) else UNKNOWN


def _sum(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    found = indexing.as_seq(interp, args[0]) if args else None
    if found is None or found.rest is not None or not found.items:
        return UNKNOWN
    total: Value = args[1] if len(args) > 1 else Const(0)
    for value in found.items:
        total = arithmetic.numbers(interp, ast.Add(), total, value, node, node)
    return total


def _extreme(choose: Callable[..., Any]) -> Handler:
    def handler(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
        items = args
        if len(args) == 1:
            found = indexing.as_seq(interp, args[0])
            items = found.items if found is not None and found.rest is None else ()
        if items and all(isinstance(item, Const) for item in items):
            try:
                return Const(choose(item.value for item in items if isinstance(item, Const)))
            except TypeError:
                return UNKNOWN
        tags = [item.tags for item in items if isinstance(item, Sym)]
        if tags:
            return interp.fresh("extreme", *(frozenset.union(*tags) & {PER_RANK, HEADS}))
        return UNKNOWN

    return handler


def _power(base: Any, exponent: Any, modulus: Any = None) -> Any:
    """`pow` of numbers that stay small."""
    if abs(base) > 1e6 or abs(exponent) > 64:
        raise OverflowError
    return pow(base, exponent, modulus)


def _rounded(value: Any, digits: Any = None) -> Any:
    """`round` to a number of digits that a size can have."""
    if digits is not None and abs(digits) > 64:
        raise OverflowError
    return round(value, digits)


def _fold(function: Callable[..., Any]) -> Handler:
    def handler(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
        if args and all(isinstance(arg, Const) for arg in args):
            try:
                return Const(function(*(arg.value for arg in args if isinstance(arg, Const))))
            except (TypeError, ValueError, ArithmeticError):
                return UNKNOWN
        return UNKNOWN

    return handler


def _bool(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    truth = conditions.truth_of(interp, args[0]) if args else False
    if truth is not None:
        return Const(truth)
    return args[0] if isinstance(args[0], Sym | Choice) else UNKNOWN


def _type(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    return (
        interp.lift(lambda value: value.cls if isinstance(value, Obj) else UNKNOWN, args[0])
        if args
        else UNKNOWN
    )


def _map(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    columns = [indexing.as_seq(interp, arg) for arg in args[1:]]
    known = [column for column in columns if column is not None and column.rest is None]
    if not known or len(known) < len(columns):
        return Seq((), UNKNOWN)
    rows = list(zip(*(column.items for column in known), strict=False))[:64]
    return Seq(tuple(calls.call(interp, args[0], row, {}, node) for row in rows))


def _reversed(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    found = indexing.as_seq(interp, args[0]) if args else None
    return Seq(found.items[::-1]) if found is not None and found.rest is None else Seq((), UNKNOWN)


def _callable(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    return Const(True) if args and isinstance(args[0], Func | Cls | Obj) else UNKNOWN


def _print(interp: Interpreter, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr) -> Value:
    return NONE


BUILTINS: dict[str, Handler] = {
    "isinstance": _isinstance,
    "len": _len,
    "range": _range,
    "getattr": _getattr,
    "setattr": _setattr,
    "hasattr": _hasattr,
    "enumerate": _enumerate,
    "zip": _zip,
    "list": _as_list,
    "tuple": _as_tuple,
    "dict": _as_dict,
    "int": _as_int,
    "sum": _sum,
    "max": _extreme(max),
    "min": _extreme(min),
    "abs": _fold(abs),
    "round": _fold(_rounded),
    "str": _fold(str),
    "float": _fold(float),
    "bool": _bool,
    "type": _type,
    "map": _map,
    "reversed": _reversed,
    "callable": _callable,
    "print": _print,
    "pow": _fold(_power),
    "sorted": _as_list,
    "iter": _as_tuple,
}
