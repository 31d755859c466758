"""What is the same written otherwise."""

from __future__ import annotations

import ast

from .frames import Frame
from .names import COMMUTATIVE
from .nodes import Node

_NEGATED = {"is not": "is", "!=": "==", "not in": "in", "not": "not"}


def binary(op: str, left: Node, right: Node, at: ast.AST, frame: Frame) -> Node:
    """Two operands; what does nothing on one rank (`// 1`, `+ 0`) is left out."""
    if op in ("//", "/", "*", "**") and _is(right, 1):
        return left
    if op == "*" and _is(left, 1):
        return right
    if op in ("+", "-") and _is(right, 0):
        return left
    if op == "+" and _is(left, 0):
        return right
    if (op == "%" and _is(right, 1)) or (op == "*" and (_is(left, 0) or _is(right, 0))):
        return frame.constant(0, at)
    if op in ("is", "is not", "==", "!=") and left.op == right.op == "const":
        same = left.key == right.key
        return frame.constant(same if op in ("is", "==") else not same, at)
    if op in ("is", "is not") and _is_none(right) and left.op in ("seq", "dict", "received"):
        return frame.constant(op == "is not", at)
    if op in ("==", "!=") and _is_none(right):
        return binary("is" if op == "==" else "is not", left, right, at, frame)
    parts = [left, right]
    if op in COMMUTATIVE:
        parts.sort(key=lambda node: node.key)
    return frame.node(op, parts, at, spots=_spots(at, parts is not None and parts[0] is left))


def _spots(at: ast.AST, in_order: bool) -> tuple[ast.AST, ...]:
    if not isinstance(at, ast.BinOp):
        return ()
    return (at.left, at.right) if in_order else (at.right, at.left)


def _is(node: Node, number: int) -> bool:
    return node.op == "const" and type(node.value) is int and node.value == number


def _is_none(node: Node) -> bool:
    return node.op == "const" and node.value is None


def truth(test: Node) -> bool | None:
    """Whether a condition is known."""
    if test.op == "const":
        return bool(test.value)
    if test.op in ("and", "or"):
        known = [truth(part) for part in test.args]
        decisive = test.op == "or"
        if decisive in known:
            return decisive
        return None if None in known else not decisive
    if test.op == "not":
        inner = truth(test.args[0])
        return None if inner is None else not inner
    return None


def choice(test: Node, yes: Node, no: Node, at: ast.AST, frame: Frame) -> Node:
    """One of two values."""
    known = truth(test)
    if known is not None:
        return yes if known else no
    yes, no = (part.args[0] if part.op == "received" else part for part in (yes, no))
    if yes.key == no.key or _asks_for_path(test, no):
        return no
    if test.op in _NEGATED:
        args = test.args
        positive = args[0] if test.op == "not" else frame.node(_NEGATED[test.op], args, test.spot.node)
        return choice(positive, no, yes, at, frame)
    spots = (at.test, at.body, at.orelse) if isinstance(at, ast.IfExp) else ()
    return frame.node("if", [test, yes, no], at, spots=spots)


def _asks_for_path(test: Node, otherwise: Node) -> bool:
    """`if isinstance(x, str): x = load(x)`: a file in place of what it holds; mask-path-not-loaded looks at it."""
    is_asked = test.op == "f:isinstance" and len(test.args) > 1 and test.args[0].key == otherwise.key
    return is_asked and test.args[1].op == "global" and test.args[1].value == "str"


def item(base: Node, index: Node, at: ast.AST, frame: Frame) -> Node:
    """One element: of a sequence or dict that is written down, the tensor of a parallel layer's pair, or unknown."""
    if base.op == "seq" and index.op == "const" and isinstance(index.value, int):
        plain = not any(part.op == "star" for part in base.args)
        if plain and -len(base.args) <= index.value < len(base.args):
            return base.args[index.value]
    if base.op == "call" and base.args[0].op == "self" and base.args[0].value in frame.side.tuples:
        if (
            index.op == "const" and type(index.value) is int
        ):  # not `[None]` or a slice, of the tensor taken before
            return base if _is(index, 0) else frame.constant(None, at)
    if base.op == "received":
        return base.args[0] if _is(index, 0) else frame.node("getitem", [base, index], at)
    if index.op == "const" and isinstance(index.value, str):
        if base.op == "dict" and (found := base.arg(repr(index.value))) is not None:
            return found
        if base.op == "setitem":
            return base.args[2] if base.args[1].key == index.key else item(base.args[0], index, at, frame)
    spots = (at.value, at.slice) if isinstance(at, ast.Subscript) else ()
    return frame.node("getitem", [base, index], at, spots=spots)
