"""The size of an axis as a product of names in memory order, and whether a view only cuts and joins such axes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .project import dotted_name


@dataclass(frozen=True)
class Axis:
    """`factor` times the named `parts`, the slowest first."""

    parts: tuple[str, ...] = ()
    factor: int = 1

    @classmethod
    def of(cls, name: str) -> Axis:
        return cls((name,))

    @classmethod
    def number(cls, value: int) -> Axis:
        return cls((), value)

    def over(self, other: Axis, text: str) -> Axis:
        """`self // other`, a name of its own that says what it is a part of."""
        return Axis((f"{'*'.join(self.parts)}//{'*'.join(other.parts) or other.factor}",))


_HEADS = re.compile(r"(^|[._])(n|num|types|local|q|kv)?_?n?heads?(_per_\w+|_local|_each)?$")

ONE = Axis()


def product(axes: Iterable[Axis]) -> Axis:
    """Axes joined to one."""
    parts: tuple[str, ...] = ()
    factor = 1
    for axis in axes:
        parts += axis.parts
        factor *= axis.factor
    return Axis(parts, factor)


@dataclass(frozen=True)
class Cut:
    """A size that a view wants before `skipped`, which lies before it in memory."""

    wanted: str
    skipped: str


def fitted(axes: Sequence[Axis], sizes: Sequence[Axis | None]) -> tuple[Axis, ...] | Cut | None:
    """The axes after a view with these sizes (None: the rest, -1); a Cut where it mixes axes; None where neither can
    be told."""
    memory = list(axes)
    done: list[Axis] = []
    for size in sizes:
        if size is None:
            return None if len(done) + 1 < len(sizes) else (*done, product(memory))
        taken = _taken(memory, size)
        if not isinstance(taken, Axis):
            return taken
        done.append(taken)
    return tuple(done) if not memory else None


def _taken(memory: list[Axis], size: Axis) -> Axis | Cut | None:
    """Take an axis of this size from the start of memory."""
    wanted, factor = list(size.parts), size.factor
    found: list[Axis] = []
    while wanted or factor > 1:
        if not memory:
            return None
        first = memory[0]
        if first.factor > 1 and factor % first.factor == 0 and not first.parts:
            factor //= first.factor
        elif first.parts and first.factor == 1 and first.parts[0] in wanted:
            if len(first.parts) > 1:  # the order inside a joined axis is that of the text: no proof
                if not set(first.parts) <= set(wanted):
                    return None
            for part in first.parts:
                wanted.remove(part)
        else:
            return _skipped(memory, wanted)
        found.append(memory.pop(0))
    return product(found)


def _skipped(memory: list[Axis], wanted: list[str]) -> Cut | None:
    """What is wanted lies further behind, whole and by its own name: what stands before it would be cut through."""
    first = memory[0]
    behind = [axis.parts[0] for axis in memory[1:] if len(axis.parts) == 1 and axis.factor == 1]
    named = first.parts[0] if len(first.parts) == 1 and first.factor == 1 else ""
    derived = any(
        "//" in part for axis in memory for part in axis.parts
    )  # `c // h` times `h` may be `c` again
    if (
        not wanted
        or derived
        or any(behind.count(name) != 1 or name.startswith("?") for name in wanted)
        or (not named and (first.parts or first.factor == 1))
        or named.startswith("?")
    ):
        return None
    return Cut(wanted[0], named or str(first.factor))


def sized(node: ast.expr) -> bool:
    """Whether an expression can be a size: names, items, numbers and whole divisions of them."""
    if isinstance(node, ast.BinOp):
        return (
            isinstance(node.op, ast.Mult | ast.FloorDiv | ast.Add | ast.Sub)
            and sized(node.left)
            and sized(node.right)
        )
    if isinstance(node, ast.Subscript):
        return dotted_name(node.value) is not None and isinstance(node.slice, ast.Constant | ast.UnaryOp)
    return dotted_name(node) is not None or (isinstance(node, ast.Constant) and type(node.value) is int)


def has_heads(axes: tuple[Axis, ...] | None) -> bool:
    return axes is not None and any(is_heads(axis) for axis in axes)


def is_heads(axis: Axis) -> bool:
    """Whether an axis counts heads, by the name of its size."""
    return (
        len(axis.parts) == 1 and axis.factor == 1 and _HEADS.search(axis.parts[0].split("@")[0]) is not None
    )


def is_scalar(node: ast.expr) -> bool:
    """Whether an operand is one number, by how it is written."""
    name = (dotted_name(node) or "").rsplit(".", 1)[-1]
    if isinstance(node, ast.Constant) or "scal" in name or "alpha" in name:
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return isinstance(node.right, ast.UnaryOp | ast.Constant)
    return isinstance(node, ast.Call) and dotted_name(node.func) in ("math.sqrt", "np.sqrt", "sqrt", "float")
