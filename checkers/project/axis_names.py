"""The names of one function: tensors with their axes, shapes, and sizes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ..facts.nodes import as_code, walk
from .axis_sizes import ONE, Axis, product, sized
from .project import dotted_name

_ATTENTION = (("q", "k", "v"), ("query", "key", "value"))

_NAMED = frozenset((ast.Name, ast.Attribute))

_NOTHING = ast.Constant(None)


@dataclass(eq=False)
class Held:
    """A tensor: its axes in memory order where they are known, and what it was first viewed as where they are not.

    `assumed` axes are those of the query that a function is given beside it.
    """

    axes: tuple[Axis, ...] | None = None
    viewed: tuple[Axis, ...] | None = None
    attended: bool = False
    assumed: bool = False
    view: ast.Call | None = None


@dataclass(frozen=True)
class Shape:
    """`x.shape` as a value."""

    of: Held


Value = Held | Shape | list["Held | Shape | None"] | None


@dataclass(eq=False)
class Names:
    """What the names of a function stand for, from the statements read so far."""

    function: ast.FunctionDef
    _env: dict[str, Held | Shape | Axis] = field(default_factory=dict)
    _versions: dict[str, int] = field(default_factory=dict)
    _owners: set[str] = field(default_factory=set)
    _fresh: int = 0

    def value(self, node: ast.expr) -> Value:
        """What an expression is."""
        raise NotImplementedError

    def forget(self, statement: ast.stmt) -> None:
        """Whatever a statement assigns is unknown from now on."""
        for node in walk(statement):
            if type(node) in _NAMED and not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
                name = dotted_name(node)
                if name is not None:
                    self.set(name, Held())
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            self.set(statement.name, Held())

    def set(self, name: str, value: Held | Shape | Axis) -> None:
        self._versions[name] = self._versions.get(name, 0) + 1
        if name in self._owners:
            start = f"{name}."
            for longer in [key for key in self._env if key.startswith(start)]:
                del self._env[longer]
        self._env[name] = value
        while "." in name:
            name = name.rpartition(".")[0]
            self._owners.add(name)

    def assign(self, target: ast.expr, value: object, node: ast.expr) -> None:
        name = dotted_name(target)
        if name is not None:
            kept = value if isinstance(value, Held | Shape) else None
            axis = self.axis(node) if kept is None and sized(node) else None
            self.set(name, kept or axis or Held())
        elif isinstance(target, ast.Tuple | ast.List):
            parts = [part.value if isinstance(part, ast.Starred) else part for part in target.elts]
            starred = any(isinstance(part, ast.Starred) for part in target.elts)
            if isinstance(value, Shape) and not starred:
                self._sizes(parts, value.of)
                return
            items = value if isinstance(value, list) and len(value) == len(parts) and not starred else None
            for index, part in enumerate(parts):
                self.assign(part, items[index] if items is not None else None, _NOTHING)
        elif isinstance(target, ast.Subscript):
            pass

    def _sizes(self, names: list[ast.expr], of: Held) -> None:
        """`b, n, c = x.shape`: the names stand for the axes; an unknown tensor has them from now on."""
        known = of.axes if of.axes is not None and len(of.axes) == len(names) else None
        found: list[Axis] = []
        for index, target in enumerate(names):
            name = dotted_name(target)
            if name is None or name == "_":
                found.append(known[index] if known is not None else self.unknown())
                continue
            self.set(name, ONE)
            axis = known[index] if known is not None else Axis.of(self._atom(name))
            self._env[name] = axis
            found.append(axis)
        if known is None and of.axes is None and of.viewed is None:
            of.axes = tuple(found)
            for group in _ATTENTION:
                held = [self._env.get(name) for name in group]
                if held[0] is of:  # keys and values come laid out as queries do
                    for other in held[1:]:
                        if isinstance(other, Held) and other.axes is None and other.viewed is None:
                            other.axes, other.assumed = of.axes, True

    def _atom(self, name: str) -> str:
        version = self._versions.get(name, 0)
        return f"{name}@{version}" if version > 1 else name

    def unknown(self) -> Axis:
        self._fresh += 1
        return Axis.of(f"?{self._fresh}")

    def axis(self, node: ast.expr) -> Axis | None:
        """A size: a number, a name, or a product of them; None for -1 and for what is no size."""
        if isinstance(node, ast.Constant):
            return Axis.number(node.value) if type(node.value) is int and node.value > 0 else None
        name = dotted_name(node)
        if name is not None:
            held = self._env.get(name)
            if isinstance(held, Axis):
                return held
            return None if isinstance(held, Shape) else Axis.of(self._atom(name))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            parts = [self.axis(node.left), self.axis(node.right)]
            return product([part for part in parts if part is not None]) if None not in parts else None
        entry = self._entry(node)
        if entry is not None:
            return entry
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            left, right = self.axis(node.left), self.axis(node.right)
            return left.over(right, as_code(node)) if left is not None and right is not None else None
        return Axis.of(as_code(node)) if sized(node) else None

    def _entry(self, node: ast.expr) -> Axis | None:
        """`x.shape[1]`, `shape[1]` and `x.size(1)`."""
        if isinstance(node, ast.Subscript):
            source, index = self.value(node.value), number_of(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
            held = self.value(node.func.value)
            source = Shape(held) if isinstance(held, Held) else None
            index = number_of(node.args[0]) if len(node.args) == 1 else None
        else:
            return None
        if not isinstance(source, Shape) or index is None:
            return None
        axes = source.of.axes
        if axes is None:
            return Axis.of(f"{as_code(node)}@{id(source.of)}")
        return axes[index] if -len(axes) <= index < len(axes) else None


def number_of(node: ast.expr) -> int | None:
    """An integer as it is written."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_of(node.operand)
        return -inner if inner is not None else None
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
