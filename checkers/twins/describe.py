"""A difference in words."""

from __future__ import annotations

import ast

from ..language import tr
from .difference import Difference
from .nodes import Node, Spot

_LONGEST = 70
_LEAVES = frozenset("param const self input each config global carried".split())


def source(spot: Spot) -> str:
    """The source of a place, in one line."""
    node = spot.node
    if isinstance(node, ast.stmt):
        found = spot.module.lines[spot.line - 1].strip() if spot.line <= len(spot.module.lines) else ""
    else:
        found = ast.unparse(node)
    found = " ".join(found.split())
    return found if len(found) <= _LONGEST else f"{found[: _LONGEST - 1]}…"


def sides(difference: Difference) -> tuple[str, str]:
    """What the distributed code has, and what the original has."""
    if difference.values is None:
        return source(difference.mine), source(difference.theirs)
    theirs, mine = difference.values
    return _value(mine, difference.mine), _value(theirs, difference.theirs)


def _value(node: Node, spot: Spot) -> str:
    """An operation as it is written, not the name that it was given."""
    if node.op in _LEAVES:
        return source(spot)
    if node.op == "getitem" and isinstance(node.spot.node, ast.Name):
        return f"{source(node.args[0].spot)}[{node.args[1].value!r}]"
    return source(node.spot)


def problem(difference: Difference, original: str) -> str:
    """One sentence."""
    here, there = sides(difference)
    if not difference.what:
        return tr(
            "`%(here)s` where the original `%(original)s` has `%(there)s`",
            here=here,
            original=original,
            there=there,
        )
    if "left out" in difference.what:
        return tr(
            "%(what)s, which the original `%(original)s` gives as `%(there)s`",
            what=difference.what,
            original=original,
            there=there,
        )
    if "given" in difference.what:
        return tr(
            "%(what)s in `%(original)s`: `%(here)s`", what=difference.what, original=original, here=here
        )
    return tr(
        "%(what)s: `%(here)s`, in the original `%(original)s` `%(there)s`",
        what=difference.what,
        here=here,
        original=original,
        there=there,
    )
