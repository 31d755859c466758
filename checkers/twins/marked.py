"""Differences and the marks that explain them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ModuleFacts
from ..language import tr
from ..project.project import Project
from .difference import Difference
from .marks import Mark, covering, marks
from .twins import Twin, twins


@dataclass(frozen=True, eq=False)
class Marked:
    """One difference of one pair, and the mark that covers it."""

    twin: Twin
    difference: Difference
    mark: Mark | None


def differences(project: Project) -> list[Marked]:
    """Every difference of the project, each once; worked out once."""
    return project.knowledge(_differences)


def _differences(project: Project) -> list[Marked]:
    known: dict[str, list[Mark]] = {}
    seen: set[tuple[object, ...]] = set()
    found = []
    for twin in twins(project):
        for difference in twin.differences:
            here, there = difference.mine, difference.theirs
            key = (here.module.display, here.line, there.module.display, there.line, difference.what)
            if key in seen:
                continue
            seen.add(key)
            spots = [here, *([difference.made] if difference.made is not None else [])]
            mark = None
            for spot in spots:
                path = spot.module.display
                known.setdefault(path, marks(spot.module))
                mark = mark or covering(known[path], spot)
            found.append(Marked(twin, difference, mark))
    return found


def unmarked(project: Project) -> Iterator[Marked]:
    """The differences that no mark covers."""
    return (marked for marked in differences(project) if marked.mark is None)


def crowded_marks(project: Project) -> Iterator[tuple[ModuleFacts, Mark, list[int]]]:
    """Marks above a statement whose lines hold several differences: one of them was meant, and which is not said."""
    modules = {module.display: module for module in project.modules}
    lines: dict[tuple[str, int], set[int]] = {}
    marks_: dict[tuple[str, int], Mark] = {}
    for marked in differences(project):
        here, mark = marked.difference.mine, marked.mark
        if mark is not None and marked.difference.decided and here.line in mark.covered:
            key = (here.module.display, mark.line)
            marks_[key] = mark
            lines.setdefault(key, set()).add(here.line)
    for key, found in lines.items():
        if len(found) > 1 and key[0] in modules:
            yield modules[key[0]], marks_[key], sorted(found)


def stale_marks(project: Project) -> Iterator[tuple[ModuleFacts, Mark, str]]:
    """Marks that cover no difference any more, and marks that give no reason."""
    used = {
        (marked.difference.mine.module.display, marked.mark.line)
        for marked in differences(project)
        if marked.mark is not None
    }
    for module in project.modules:
        for mark in marks(module):
            if (module.display, mark.line) not in used:
                yield module, mark, tr("this mark covers no difference from the original")
            elif not mark.reason:
                yield module, mark, tr("this mark gives no reason")
