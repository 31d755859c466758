"""Calls whose arguments are exchanged."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from .callers import crossed
from .candidate import Hint, reason
from .sources import Sources, Spot


def crossed_calls(spots: Sequence[Spot], sources: Sources) -> Iterator[Hint]:
    """Calls whose keywords carry each other's names, `a=x.b, b=x.a`: in the files of the traceback, in those that speak
    of its classes, and in training scripts."""
    names = {
        node.name
        for spot in spots
        for node in spot.source.enclosing(spot.line)
        if isinstance(node, ast.ClassDef)
    }
    found = {spot.source.path: spot.source for spot in spots}
    for name in ("pretrain(", *sorted(names)):
        found.update((source.path, source) for source in sources.having(name))
    for path, source in sorted(found.items()):
        for node in source.nodes:
            if isinstance(node, ast.Call) and len(node.keywords) > 1:
                crossing = crossed(node, None)
                if crossing:
                    line = next(k.value.lineno for k in node.keywords if k.arg == crossing[0])
                    yield Hint(path, line, 96.0, reason("crossed", name=" / ".join(crossing)))
