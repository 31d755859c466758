"""Operators over numbers, sequences and tensors."""

from __future__ import annotations

import ast
import operator
from typing import Any

from ..language import tr
from . import conditions, indexing, matrix_products, tensor_products, tokens
from .choices import choose
from .events import NoneUsed, PairUsed
from .frames import Frame
from .interpreter import Interpreter
from .parameter_events import Divided
from .symbols import Poly, Quotient
from .values import (
    HEADS,
    MAX_ITEMS,
    PER_RANK,
    TP,
    UNKNOWN,
    Const,
    Heap,
    NothingReturned,
    Pair,
    Seq,
    Sym,
    Tensor,
    Value,
    number,
    poly_of,
)

_FOLD: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}

_MAX_KINDS = 4

_MAX_FOLDED = 10_000

_MAX_BITS = 128


def binary(interp: Interpreter, frame: Frame, node: ast.BinOp, left: Value, right: Value) -> Value:
    """`left op right`"""
    return combine(interp, node.op, left, right, node, (node.left, node.right))


def combine(
    interp: Interpreter,
    op: ast.operator,
    left: Value,
    right: Value,
    node: ast.expr,
    parts: tuple[ast.expr, ast.expr],
) -> Value:
    """One arithmetic operator; `parts` are the operand nodes, for messages."""
    operands = [left, right]
    for index, value in enumerate(operands):
        if isinstance(value, Pair) and _needs_a_tensor(op, operands[1 - index]):
            interp.emit(PairUsed, parts[index], pair=value, how=tr("it is an operand of arithmetic"))
            operands[index] = interp.settle(value.output)
        elif isinstance(value, NothingReturned):
            interp.emit(NoneUsed, parts[index], forward=value.forward, how=tr("it is an operand"))
            operands[index] = UNKNOWN
    left, right = operands
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        if isinstance(op, ast.MatMult):
            return matrix_products.matmul(interp, left, right, node)
        additive = isinstance(op, ast.Add | ast.Sub)
        return tensor_products.combine(interp, left, right, node, additive=additive)
    return numbers(interp, op, left, right, node, parts[0])


def _needs_a_tensor(op: ast.operator, other: Value) -> bool:
    """Whether an operator with this other operand fails on a tuple, which can be joined and repeated."""
    if isinstance(op, ast.Add):
        return isinstance(other, Tensor | Pair)
    return not (isinstance(op, ast.Mult) and isinstance(other, Const) and isinstance(other.value, int))


def numbers(
    interp: Interpreter, op: ast.operator, left: Value, right: Value, node: ast.expr, top: ast.expr
) -> Value:
    """Arithmetic of constants, symbolic numbers and sequences."""
    if isinstance(left, Const) and isinstance(right, Const):
        return _fold(op, left.value, right.value)
    if isinstance(op, ast.FloorDiv | ast.Div) and isinstance(right, Sym) and TP in right.tags:
        interp.emit(Divided, node, top=left, name=ast.unparse(top))
    a, b = poly_of(left), poly_of(right)
    if a is not None and b is not None:
        made = _symbolic(interp, op, a, b, _tags(op, left, right))
        return _made_whole(made, left, right) if isinstance(op, ast.Mult) else made
    if isinstance(op, ast.Add | ast.Mult):
        joined = _sequences(interp, op, left, right)
        if joined is not None:
            return joined
    if isinstance(op, ast.FloorDiv | ast.Div) and isinstance(right, Sym) and TP in right.tags:
        return interp.fresh("share", PER_RANK)
    return UNKNOWN


def _fold(op: ast.operator, left: Any, right: Any) -> Value:
    try:
        if isinstance(op, ast.Pow | ast.LShift) and (abs(left) > 1e6 or abs(right) > 64):
            return UNKNOWN
        if isinstance(op, ast.Mult) and isinstance(left, str | bytes) and right > _MAX_FOLDED:
            return UNKNOWN
        if isinstance(op, ast.Mult) and isinstance(right, str | bytes) and left > _MAX_FOLDED:
            return UNKNOWN
        if isinstance(op, ast.Mod) and isinstance(left, str | bytes):
            return UNKNOWN
        return constant(_FOLD[type(op)](left, right))
    except (TypeError, ValueError, KeyError, ArithmeticError, MemoryError):
        return UNKNOWN


def constant(value: Any) -> Value:
    """A Const, unless it has grown out of all measure: a loop that doubles a number or a text must not hang."""
    if (isinstance(value, int) and value.bit_length() > _MAX_BITS) or (
        isinstance(value, str | bytes) and len(value) > _MAX_FOLDED
    ):
        return UNKNOWN
    return Const(value)


def _tags(op: ast.operator, left: Value, right: Value) -> frozenset[str]:
    mine = left.tags if isinstance(left, Sym) else frozenset()
    theirs = right.tags if isinstance(right, Sym) else frozenset()
    tags = (mine | theirs) - {TP}
    if isinstance(op, ast.FloorDiv | ast.Div):
        tags = mine - {TP}
        if TP in theirs:
            tags |= {PER_RANK}
        elif HEADS in theirs:
            tags -= {HEADS}
        if PER_RANK in mine and PER_RANK in theirs:
            tags -= {PER_RANK}  # a ratio of two shares is that of the wholes
    elif isinstance(op, ast.Mult):
        tags -= {HEADS}
        if TP in mine or TP in theirs:
            tags -= {PER_RANK, tokens.LENGTH}
    return tags


def _made_whole(product: Value, *factors: Value) -> Value:
    """A share times what it was divided by: the division is gone, and with it the share."""
    if isinstance(product, Sym) and PER_RANK in product.tags and not _is_divided(product):
        if any(isinstance(factor, Sym) and _is_divided(factor) for factor in factors):
            return Sym(product.poly, product.tags - {PER_RANK})
    return product


def _is_divided(size: Sym) -> bool:
    return any(isinstance(atom, Quotient) for atoms, _ in size.poly.terms for atom in atoms)


def _symbolic(interp: Interpreter, op: ast.operator, a: Poly, b: Poly, tags: frozenset[str]) -> Value:
    if isinstance(op, ast.Add):
        return number(a + b, tags)
    if isinstance(op, ast.Sub):
        return number(a - b, tags)
    if isinstance(op, ast.Mult):
        return number(a * b, tags)
    if isinstance(op, ast.FloorDiv):
        return number(a.floor_divided(b), tags)
    if isinstance(op, ast.Div):
        exact = a.divided(b)
        if exact is not None and all(value.denominator == 1 for _, value in exact.terms):
            return number(exact, tags)
        return number(a.floor_divided(b), tags | {"ratio"})
    if isinstance(op, ast.Mod):
        return Sym(Poly.atom(f"({a}) % ({b})"))
    if (
        isinstance(op, ast.Pow)
        and b.constant is not None
        and b.constant.denominator == 1
        and 0 < b.constant <= 3
    ):
        result = a
        for _ in range(int(b.constant) - 1):
            result = result * a
        return number(result, tags)
    return UNKNOWN


def _sequences(interp: Interpreter, op: ast.operator, left: Value, right: Value) -> Value | None:
    if isinstance(op, ast.Mult):
        sequence, times = (left, right) if isinstance(left, Seq | Heap) else (right, left)
        items = indexing.as_seq(interp, sequence) if isinstance(sequence, Seq | Heap) else None
        if items is None:
            return None
        if isinstance(times, Const) and isinstance(times.value, int) and items.rest is None:
            if len(items.items) * times.value <= 256:
                return _as(sequence, Seq(items.items * times.value))
        return _as(sequence, Seq((), items.items[0] if len(items.items) == 1 else UNKNOWN))
    if not isinstance(left, Seq | Heap) or not isinstance(right, Seq | Heap):
        return None
    first, second = indexing.as_seq(interp, left), indexing.as_seq(interp, right)
    if first is None or second is None:
        return None
    if len(first.items) + len(second.items) > MAX_ITEMS:
        return _as(left, Seq((), UNKNOWN))
    if first.rest is not None:
        return _as(left, Seq(first.items, _either(interp, first.rest, *second.items, second.rest)))
    return _as(left, Seq(first.items + second.items, second.rest))


def _either(interp: Interpreter, *items: Value | None) -> Value:
    """An item of a list of unknown length: any of these."""
    options: list[Value] = []
    for item in items:
        if item is not None and not any(item == other or indexing.alike(item, other) for other in options):
            options.append(item)
    if len(options) > _MAX_KINDS:
        return UNKNOWN
    *others, found = options
    for item in reversed(others):
        found = choose(interp.fresh("item").text, item, found)
    return found


def _as(like: Value, items: Seq) -> Value:
    return Heap("list", {"content": items}) if isinstance(like, Heap) else items


def unary(interp: Interpreter, frame: Frame, node: ast.UnaryOp, value: Value) -> Value:
    """`-x`, `+x`, `not x`, `~x`"""
    if isinstance(node.op, ast.Not):
        truth = conditions.truth_of(interp, value)
        if truth is not None:
            return Const(not truth)
        return Sym.named(f"not {conditions.key_of(interp, frame, node.operand, value)}")
    if isinstance(value, Pair):
        interp.emit(PairUsed, node.operand, pair=value, how=tr("it is an operand of arithmetic"))
        return interp.settle(value.output)
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Const):
        try:
            if isinstance(node.op, ast.USub):
                return Const(-value.value)
            return Const(~value.value) if isinstance(node.op, ast.Invert) else value
        except TypeError:
            return UNKNOWN
    poly = poly_of(value)
    if poly is not None and isinstance(node.op, ast.USub):
        return number(-poly, value.tags if isinstance(value, Sym) else frozenset())
    return UNKNOWN
