"""Functions of `math` and `numpy` on numbers."""

from __future__ import annotations

import ast
import itertools
import math

from . import (
    indexing,
)
from .interpreter import Interpreter
from .states import State
from .symbols import Poly
from .values import (
    UNKNOWN,
    Const,
    Heap,
    Seq,
    Sym,
    Tensor,
    Value,
    number,
    poly_of,
)

_OF_NUMBERS = frozenset("ceil floor sqrt log log2 log10 exp pow prod gcd isqrt fabs trunc pi e".split())


def math_of(interp: Interpreter, last: str, args: tuple[Value, ...], node: ast.expr) -> Value:
    if args and all(isinstance(arg, Const) for arg in args):
        function = getattr(math, last, None) if last in _OF_NUMBERS else None
        try:
            if function is not None:
                return Const(function(*(arg.value for arg in args if isinstance(arg, Const))))
            if last == "linspace" and len(args) == 3:
                low, high, count = (arg.value for arg in args if isinstance(arg, Const))
                step = (high - low) / (count - 1) if count > 1 else 0.0
                return Heap(
                    "list", {"content": Seq(tuple(Const(low + step * i) for i in range(min(count, 4096))))}
                )
        except (TypeError, ValueError, ArithmeticError):
            return UNKNOWN
    items = indexing.as_seq(interp, args[0]) if last in ("prod", "cumsum") and len(args) == 1 else None
    parts = [poly_of(item) for item in items.items] if items is not None and items.rest is None else []
    known = [part for part in parts if part is not None]
    if known and len(known) == len(parts):
        if last == "prod":
            return number(math.prod(known, start=Poly.number(1)))
        sums = itertools.accumulate(known)
        return Heap("list", {"content": Seq(tuple(map(number, sums)))})
    first = poly_of(args[0]) if args else None
    if last in ("ceil", "floor", "prod") and first is not None and isinstance(args[0], Sym):
        if last == "floor":
            return Sym(first, args[0].tags - {"ratio"})
        return Sym(Poly.atom(f"ceil({first})"), args[0].tags - {"ratio"})
    if args and isinstance(args[0], Tensor):
        return args[0].but(state=State.UNKNOWN)
    return UNKNOWN
