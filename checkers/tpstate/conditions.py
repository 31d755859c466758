"""Deciding conditions, and naming the ones that cannot be decided."""

from __future__ import annotations

import ast
import operator
from typing import Any

from ..facts.nodes import as_code
from . import calls, expressions
from .callables import Func
from .choices import Choice
from .flags import implied
from .frames import Frame
from .interpreter import Interpreter
from .values import (
    Cls,
    Const,
    Heap,
    Known,
    Mod,
    NoEntry,
    Obj,
    Pair,
    Seq,
    Sym,
    Table,
    Tensor,
    Unknown,
    Value,
    poly_of,
)

_ORDER: dict[type, Any] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def truth(interp: Interpreter, frame: Frame, node: ast.expr) -> tuple[bool | None, str]:
    """Whether a test holds, or None with the canonical text of the open condition.

    The text of a negation is `not <text>`; the interpreter knows both by either.
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        answer, key = truth(interp, frame, node.operand)
        return (not answer, key) if answer is not None else _known(interp, f"not {key}")
    if isinstance(node, ast.BoolOp):
        return _bool(interp, frame, node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compare(interp, frame, node)
    value = interp.settle(expressions.evaluate(interp, frame, node))
    answer = truth_of(interp, value)
    if answer is not None:
        return answer, ""
    return _known(interp, key_of(interp, frame, node, value))


def note_refused(interp: Interpreter, frame: Frame, test: ast.expr) -> None:
    """A test that leads to a raise: where it asked whether a registry has a key, the key is unknown."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    asked = test
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        asked = test.left
        if isinstance(test.ops[0], ast.In | ast.NotIn):
            key = interp.settle(expressions.evaluate(interp, frame, test.left))
            held = interp.settle(expressions.evaluate(interp, frame, test.comparators[0]))
            table = held.content if isinstance(held, Heap) else held
            if (
                isinstance(table, Table)
                and table.name
                and isinstance(key, Const)
                and isinstance(key.value, str)
            ):
                if table.rest is None and key.value not in table.entries:
                    calls.note_missing(interp, table, key.value, test)
            return
    if isinstance(asked, ast.Name):
        value = interp.settle(expressions.evaluate(interp, frame, asked))
        if isinstance(value, NoEntry):
            calls.note_missing(interp, value.table, value.key, test)


def _known(interp: Interpreter, key: str) -> tuple[bool | None, str]:
    return interp.known_side(key), key


def _bool(interp: Interpreter, frame: Frame, node: ast.BoolOp) -> tuple[bool | None, str]:
    is_or = isinstance(node.op, ast.Or)
    keys = []
    before = interp.branch
    for part in node.values:
        answer, key = truth(interp, frame, part)
        if answer is is_or:
            interp.branch = before
            return is_or, ""
        if answer is None:
            keys.append(key)
            # What follows in the same test is read knowing this part: `x is not None and x.shape`.
            interp.branch = {**interp.branch, **implied(key, not is_or)}
    interp.branch = before
    if not keys:
        return not is_or, ""
    if len(keys) == 1:
        return _known(interp, keys[0])
    return _known(interp, (" or " if is_or else " and ").join(f"({key})" for key in keys))


def truth_of(interp: Interpreter, value: Value) -> bool | None:
    """The truth of a value, None when open."""
    value = interp.settle(value)
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Sym):
        constant = value.poly.constant
        return bool(constant) if constant is not None else None
    if isinstance(value, Cls | Func | Known | Mod | Pair):
        return None if isinstance(value, Known) and value.dotted.isupper() else True
    if isinstance(value, Obj):
        return True if not value.opaque and value.cls.facts is None else None
    if isinstance(value, Heap):
        return truth_of(interp, value.content)
    if isinstance(value, Seq):
        return bool(value.items) or (None if value.rest is not None else False)
    if isinstance(value, Table):
        return bool(value.entries) or (None if value.rest is not None else False)
    if isinstance(value, Choice):
        sides = {truth_of(interp, value.then), truth_of(interp, value.other)}
        return sides.pop() if len(sides) == 1 else None
    return None


def key_of(interp: Interpreter, frame: Frame, node: ast.expr, value: Value) -> str:
    """The canonical text of an open condition: by identity where there is one, else by its text in this frame."""
    if isinstance(value, Choice):
        then, other = truth_of(interp, value.then), truth_of(interp, value.other)
        if then is True and other is False:
            return value.key
        if then is False and other is True:
            return f"not {value.key}"
    if isinstance(value, Sym):
        return value.text
    return f"{as_code(node)}@{frame.serial}"


def _compare(interp: Interpreter, frame: Frame, node: ast.Compare) -> tuple[bool | None, str]:
    left = interp.settle(expressions.evaluate(interp, frame, node.left))
    right = interp.settle(expressions.evaluate(interp, frame, node.comparators[0]))
    op = node.ops[0]
    negative = isinstance(op, ast.NotEq | ast.IsNot | ast.NotIn)
    if isinstance(left, Choice) or isinstance(right, Choice):
        return _compare_choice(interp, frame, node, left, right, op)
    answer = compare_values(interp, op, left, right)
    if answer is not None:
        return answer, ""
    names = []
    for value, part in ((left, node.left), (right, node.comparators[0])):
        if isinstance(value, Sym):
            names.append(value.text)
        elif isinstance(value, Const | Cls | Known):
            names.append(str(getattr(value, "dotted", None) or repr(getattr(value, "value", None))))
        elif isinstance(value, Unknown):
            names.append(f"{as_code(part)}@{frame.serial}")
        else:
            names.append(f"{as_code(part)}@{frame.serial}")
    sign = {ast.NotEq: "==", ast.IsNot: "is", ast.NotIn: "in"}.get(type(op)) or _SIGNS[type(op)]
    answer, key = _known(interp, f"{names[0]} {sign} {names[1]}")
    if negative:
        return (not answer, key) if answer is not None else _known(interp, f"not {key}")
    return answer, key


_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.Is: "is", ast.In: "in"}


def _compare_choice(
    interp: Interpreter, frame: Frame, node: ast.Compare, left: Value, right: Value, op: ast.cmpop
) -> tuple[bool | None, str]:
    sides: dict[str, set[bool | None]] = {}
    value = left if isinstance(left, Choice) else right
    assert isinstance(value, Choice)
    for side in (True, False):
        with interp.picking(value.key, side):
            answer, _ = _plain(interp, op, left, right)
            sides.setdefault(str(side), set()).add(answer)
    then, other = sides["True"].pop(), sides["False"].pop()
    if then == other and then is not None:
        return then, ""
    if then is True and other is False:
        return _known(interp, value.key)
    if then is False and other is True:
        return _known(interp, f"not {value.key}")
    return _known(interp, f"{as_code(node)}@{frame.serial}")


def _plain(interp: Interpreter, op: ast.cmpop, left: Value, right: Value) -> tuple[bool | None, str]:
    left, right = interp.settle(left), interp.settle(right)
    if isinstance(left, Choice) or isinstance(right, Choice):
        return None, ""
    return compare_values(interp, op, left, right), ""


def compare_values(interp: Interpreter, op: ast.cmpop, left: Value, right: Value) -> bool | None:
    """The outcome of one comparison, None when open."""
    if isinstance(op, ast.Is | ast.IsNot):
        same = _identical(left, right)
        return same if same is None or isinstance(op, ast.Is) else not same
    if isinstance(op, ast.In | ast.NotIn):
        inside = _contains(interp, left, right)
        return inside if inside is None or isinstance(op, ast.In) else not inside
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            return bool(_ORDER[type(op)](left.value, right.value))
        except (TypeError, KeyError):
            return None
    if isinstance(op, ast.Eq | ast.NotEq):
        if isinstance(left, Cls) and isinstance(right, Cls):
            return (left == right) is isinstance(op, ast.Eq)
        if isinstance(left, Obj | Cls) and isinstance(right, Const):
            return isinstance(op, ast.NotEq) if right.value is None else None
    a, b = poly_of(left), poly_of(right)
    if a is not None and b is not None:
        constant = (a - b).constant
        if constant is not None:
            return bool(_ORDER[type(op)](constant, 0))
    return None


def _identical(left: Value, right: Value) -> bool | None:
    if (isinstance(right, Const) and right.value is None) or (isinstance(left, Const) and left.value is None):
        other = left if isinstance(right, Const) and right.value is None else right
        if isinstance(other, Const):
            return other.value is None
        if isinstance(other, Sym | Unknown | Choice):
            return None
        return None if isinstance(other, Tensor) and other.tag == "argument" else False
    if isinstance(left, Const) and isinstance(right, Const):
        return bool(left.value is right.value or left.value == right.value)
    if isinstance(left, Cls) and isinstance(right, Cls):
        return left == right
    if isinstance(left, Obj) and isinstance(right, Obj):
        return left is right
    return None


def _contains(interp: Interpreter, item: Value, container: Value) -> bool | None:
    if isinstance(container, Heap):
        container = container.content
    if isinstance(container, Table):
        key = item.value if isinstance(item, Const) else item if isinstance(item, Cls) else None
        if key is None:
            return None
        return True if key in container.entries else (None if container.rest is not None else False)
    if isinstance(container, Seq):
        if item in container.items and isinstance(item, Const | Cls):
            return True
        if (
            container.rest is None
            and isinstance(item, Const)
            and all(isinstance(i, Const) for i in container.items)
        ):
            return False
        return None
    if isinstance(container, Const) and isinstance(item, Const):
        try:
            return bool(item.value in container.value)
        except TypeError:
            return None
    return None
