"""What classes hold and take: names of weights, and defaults."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from ..language import tr
from .difference import Difference
from .frames import Side
from .names import is_config, plain
from .nodes import Node, Spot
from .traced import constructor


def is_held(node: Node) -> bool:
    """Whether an attribute holds a layer, a parameter or a buffer."""
    return node.op in ("new", "modules", "buffer", "append", "loop") or (
        node.op.startswith("f:") and node.op.endswith("_")
    )


def renamed(first: Side, sides: Sequence[Side]) -> dict[str, tuple[str, Node, Node]]:
    """Attributes of the distributed side that hold under another name what the original holds: the original's name.

    Only where both sides have exactly one layer of the kind that the other one lacks.
    """
    theirs = {name: node for name, node in first.attrs.items() if _has_weights(node)}
    mine = {name: node for side in sides for name, node in side.attrs.items() if _has_weights(node)}
    lacking = {name: node for name, node in theirs.items() if not any(name in side.attrs for side in sides)}
    extra = {name: node for name, node in mine.items() if name not in first.attrs}
    kinds = Counter(_kind(node) for node in lacking.values()), Counter(_kind(node) for node in extra.values())
    found = {}
    for name, node in extra.items():
        if kinds[0][_kind(node)] == kinds[1][_kind(node)] == 1:
            own, original = next((n, o) for n, o in lacking.items() if _kind(o) == _kind(node))
            found[name] = (own, original, node)
    return found


def _has_weights(node: Node) -> bool:
    return node.op in ("new", "modules") and "Dropout" not in str(node.value)


def _kind(node: Node) -> tuple[object, ...]:
    """What is built: a class or style with the same arguments, where it is no wrapper."""
    style = node.arg("style") if node.op == "new" else None
    if style is not None:
        return (node.op, node.value, plain(str(style.value)).lower())
    return (node.op, node.key)


def names_of_weights(first: Side, sides: Sequence[Side]) -> Iterator[Difference]:
    """Layers whose weights have other names than the original's."""
    for name, (own, theirs, mine) in renamed(first, sides).items():
        what = tr(
            "`self.%(name)s` is what the original holds as `self.%(own)s`, so that its weights have "
            "other names",
            name=name,
            own=own,
        )
        yield Difference(theirs.spot, mine.spot, what)


def defaults_of(first: Side, side: Side) -> Iterator[Difference]:
    """Parameters of one name with another default."""
    theirs = constructor(first.project, first.cls)
    for name, mine in constructor(side.project, side.cls).items():
        original = theirs.get(name)
        if original is None or mine is None or is_config(name):
            continue
        try:
            same = ast.literal_eval(original) == ast.literal_eval(mine)
        except ValueError:
            continue
        if not same:
            there, here = _home(first, original), _home(side, mine)
            yield Difference(there, here, tr("the default of `%(name)s` differs", name=name))


def last_return(side: Side) -> Spot | None:
    """The value that `forward` ends with."""
    found = side.project.method(side.cls, "forward")
    last = found[1].body[-1] if found is not None else None
    return (
        Spot(found[0].module, last.value) if found and isinstance(last, ast.Return) and last.value else None
    )


def _home(side: Side, node: ast.expr) -> Spot:
    found = side.project.method(side.cls, "__init__")
    return Spot((found[0] if found is not None else side.cls).module, node)
