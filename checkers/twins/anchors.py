"""Layers that both sides call once: what they are given can be compared wherever they stand."""

from __future__ import annotations

from collections.abc import Iterator

from .nodes import Node, reachable


def anchored(a: Node, b: Node) -> Iterator[tuple[Node, Node]]:
    """The calls of one layer of one name, from the last to the first, where each side has exactly one.

    What stands around them need not be alike: split code gathers or cuts what the original takes as it is.
    """
    theirs, mine = _single_calls(a), _single_calls(b)
    for name, call in theirs.items():
        if name in mine and mine[name].key != call.key:
            yield call, mine[name]


def _single_calls(node: Node) -> dict[str, Node]:
    found: dict[str, Node | None] = {}
    for part in reachable(node):
        if part.op == "call" and part.args[0].op == "self":
            name = str(part.args[0].value)
            found[name] = None if name in found else part
    return {name: call for name, call in found.items() if call is not None}
