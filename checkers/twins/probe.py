"""Numbers that a constructor works out, with the default arguments and with others."""

from __future__ import annotations

import ast
import math
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from .graphs import is_count
from .nodes import Node

Unknown = object()
_MAX = 4096
_TURNS = (3, 4, 11)
_BINARY: dict[str, Callable[[float, float], object]] = {
    "-": lambda a, b: a - b, "/": lambda a, b: a / b, "//": lambda a, b: a // b, "%": lambda a, b: a % b,
    "**": lambda a, b: a**b if abs(a) < _MAX and abs(b) < 8 else Unknown, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip
_CALLS: dict[str, Callable[..., object]] = {
    "int": int, "float": float, "bool": bool, "len": len, "sum": sum, "max": max, "min": min, "abs": abs,
    "round": round, "any": any, "all": all, "ceil": math.ceil, "floor": math.floor, "sqrt": math.sqrt,
    "tuple": tuple, "list": tuple, "prod": math.prod,
}  # fmt: skip


class Probe:
    """Values of nodes for one choice of arguments: the defaults, or (`moved`) others that tell names apart.

    `filled`: arguments without a default, or with None, are numbers of their own.
    """

    def __init__(
        self, parameters: Mapping[str, ast.expr | None], *, moved: bool, filled: bool = False
    ) -> None:
        self.moved, self.filled = moved, filled
        self._given = {name: self._argument(name, default) for name, default in parameters.items()}
        self._found: dict[int, Any] = {}
        self._each: object = Unknown

    def _argument(self, name: str, default: ast.expr | None) -> object:
        number = zlib.crc32(name.encode()) % 89
        if self.filled and (default is None or (isinstance(default, ast.Constant) and default.value is None)):
            return number + 3
        if default is None:
            return Unknown
        try:
            value = ast.literal_eval(default)
        except ValueError:
            return Unknown
        return _moved(value, number) if self.moved else _tuple(value)

    def turn(self, number: int) -> Probe:
        """The same, in one turn of a loop: what it goes over is a number."""
        found = Probe({}, moved=self.moved)
        found._given, found._each = self._given, number
        return found

    def of(self, node: Node) -> Any:
        """The value, `Unknown` where it does not follow from the arguments."""
        if node.key not in self._found:
            self._found[node.key] = Unknown
            with suppress(ArithmeticError, TypeError, ValueError, IndexError):
                self._found[node.key] = self._compute(node)
        return self._found[node.key]

    def _compute(self, node: Node) -> object:
        if node.op == "const":
            return node.value
        if node.op == "param":
            return self._given.get(str(node.value), Unknown)
        if node.op == "each":
            return self._each
        if node.op == "slice":
            parts = [self.of(part) for part in node.args]
            return slice(*parts) if Unknown not in parts else Unknown
        if node.op == "seq":
            return self._sequence(node)
        if node.op == "if":
            test = self.of(node.args[0])
            return Unknown if test is Unknown else self.of(node.args[1 if test else 2])
        if node.op == "f:tolist":
            return self.of(node.args[0])
        values = [self.of(arg) for arg in node.args]
        if any(value is Unknown for value in values) or any(node.names):
            return Unknown
        return self._apply(node.op, values)

    def _apply(self, op: str, values: list[Any]) -> object:
        a = values
        if op == "getitem":
            return a[0][a[1]]
        if op in ("+", "*"):
            total = a[0]
            for value in a[1:]:
                total = total + value if op == "+" else total * value
            return total
        if op in ("is", "=="):
            return a[0] == a[1]
        if op == "neg":
            return -a[0]
        if op == "not":
            return not a[0]
        if op in ("and", "or"):
            return a[0] and a[1] if op == "and" else a[0] or a[1]
        if op in _BINARY:
            return _BINARY[op](a[0], a[1])
        if op == "f:linspace" and len(a) == 3:
            start, end, count = a
            if not isinstance(count, int) or not 0 < count < _MAX:
                return Unknown
            step = (end - start) / max(count - 1, 1)
            return tuple(start + step * index for index in range(count))
        name = op.removeprefix("f:")
        return _tuple(_CALLS[name](*a)) if op.startswith("f:") and name in _CALLS else Unknown

    def _sequence(self, node: Node) -> object:
        found: list[object] = []
        for part in node.args:
            value = self.of(part.args[0] if part.op == "star" else part)
            if value is Unknown:
                return Unknown
            found += value if part.op == "star" else [value]
        return tuple(found)


def turns_alike(a: Node, b: Node, probe: Probe) -> bool | None:
    """Whether two counts that are worked out in each turn of a loop are equal; None where they are no such counts."""
    if not ({a.op, b.op} & _BINARY.keys() | ({a.op, b.op} & {"+", "*"})) or not (is_count(a) and is_count(b)):
        return None
    turns = [probe.turn(number) for number in _TURNS]
    pairs = [(turn.of(a), turn.of(b)) for turn in turns]
    if any(Unknown in pair for pair in pairs):
        return None
    return all(same(*pair) for pair in pairs)


def _tuple(value: object) -> object:
    return tuple(map(_tuple, value)) if isinstance(value, list | tuple) else value


def _moved(value: object, number: int) -> object:
    """Another value of the same kind, another for each name."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return tuple(_moved(part, number + 2 * index) for index, part in enumerate(value))
    if isinstance(value, int):
        return value * 2 + 2 * number
    return value + number / 1000 if isinstance(value, float) else Unknown


def same(a: object, b: object) -> bool:
    """Whether two values are equal but for rounding."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return (
            isinstance(a, int | float)
            and isinstance(b, int | float)
            and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
        )
    return bool(a == b)
